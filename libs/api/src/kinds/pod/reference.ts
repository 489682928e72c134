import { core, text } from '../fields.ts';

export const localObjectReferenceSchema = core('LocalObjectReference', 'Names an object in the same namespace', {
  name: text('Name of the object'),
});

export const objectReferenceSchema = core('ObjectReference', 'Points to an object', {
  apiVersion: text('API version of the object'),
  kind: text('Kind of the object'),
  namespace: text('Namespace of the object'),
  name: text('Name of the object'),
  uid: text('UID of the object'),
  resourceVersion: text('Version of the object that was seen'),
  fieldPath: text('Part of the object'),
});
