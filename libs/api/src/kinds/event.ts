import { z } from 'zod';
import { ageOf, column, numberAt, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { eventRules } from '../rules/event.ts';
import { objectOf } from './object.ts';

const referenceSchema = z.object({
  apiVersion: z.string().optional().describe('API version of the object'),
  kind: z.string().optional().describe('Kind of the object'),
  namespace: z.string().optional().describe('Namespace of the object'),
  name: z.string().optional().describe('Name of the object'),
  uid: z.string().optional().describe('UID of the object'),
  resourceVersion: z.string().optional().describe('Version of the object that was seen'),
  fieldPath: z.string().optional().describe('Part of the object'),
});
const timeSchema = z.string().nullish();

const schema = objectOf('v1', 'Event', 'Something that happened to an object', {
  involvedObject: referenceSchema.describe('What it happened to'),
  reason: z.string().optional().describe('One word why'),
  message: z.string().optional().describe('What happened, in words'),
  source: z
    .object({ component: z.string().optional().describe('Who saw it'), host: z.string().optional().describe('Node on which it was seen') })
    .optional()
    .describe('Who saw it'),
  type: z.string().optional().describe('Normal or Warning'),
  firstTimestamp: timeSchema.describe('When it was first seen'),
  lastTimestamp: timeSchema.describe('When it was last seen'),
  count: z.number().int().optional().describe('How often it was seen'),
  eventTime: timeSchema.describe('When it was first seen, to the microsecond'),
  series: z
    .object({ count: z.number().int().optional().describe('How often'), lastObservedTime: timeSchema.describe('When last') })
    .nullish()
    .describe('Told of an event that goes on'),
  action: z.string().optional().describe('What was done'),
  related: referenceSchema.nullish().describe('Another object that is concerned'),
  reportingComponent: z.string().optional().describe('Controller that told it'),
  reportingInstance: z.string().optional().describe('Its instance'),
});

const lastSeen = (event: KubeObject): unknown =>
  valueAt(event, 'series', 'lastObservedTime') ?? valueAt(event, 'lastTimestamp') ?? valueAt(event, 'eventTime') ?? valueAt(event, 'firstTimestamp') ?? event.metadata.creationTimestamp;

function objectText(event: KubeObject): string {
  const kind = (textAt(event, 'involvedObject', 'kind') ?? '').toLowerCase();
  const name = textAt(event, 'involvedObject', 'name') ?? '';
  return name === '' ? kind : `${kind}/${name}`;
}

function sourceText(event: KubeObject): string {
  const component = textAt(event, 'source', 'component') || textAt(event, 'reportingComponent') || '';
  const instance = textAt(event, 'source', 'host') || textAt(event, 'reportingInstance') || '';
  return instance === '' ? component : `${component}, ${instance}`;
}

export const event: Kind = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  singular: 'event',
  shortNames: ['ev'],
  categories: [],
  namespaced: true,
  schema,
  hasStatus: false,
  columns: [
    column('Last Seen', 'string', 'Time since it was last seen', (object, now) => ageOf(lastSeen(object), now)),
    column('Type', 'string', 'Normal or Warning', (object) => textAt(object, 'type') ?? ''),
    column('Reason', 'string', 'One word why', (object) => textAt(object, 'reason') ?? ''),
    column('Object', 'string', 'What it happened to', objectText),
    column('Subobject', 'string', 'Part of the object', (object) => textAt(object, 'involvedObject', 'fieldPath') ?? '', { wide: true }),
    column('Source', 'string', 'Who saw it', sourceText, { wide: true }),
    column('Message', 'string', 'What happened', (object) => (textAt(object, 'message') ?? '').trim()),
    column('First Seen', 'string', 'Time since it was first seen', (object, now) => ageOf(valueAt(object, 'firstTimestamp') ?? valueAt(object, 'eventTime'), now), { wide: true }),
    column('Count', 'integer', 'How often it was seen', (object) => numberAt(object, 'series', 'count') ?? numberAt(object, 'count') ?? 1, { wide: true }),
    column('Name', 'string', 'Name of the event', (object) => object.metadata.name, { wide: true, format: 'name' }),
  ],
  fieldSelectors: [
    'involvedObject.kind', 'involvedObject.namespace', 'involvedObject.name', 'involvedObject.uid', 'involvedObject.apiVersion',
    'involvedObject.resourceVersion', 'involvedObject.fieldPath', 'reason', 'source', 'type', 'reportingComponent',
  ],
  validate: eventRules,
  generationOf: () => undefined,
  // Kubernetes shows these also when they say nothing.
  complete: (object) => void Object.assign(object, { eventTime: null, firstTimestamp: null, lastTimestamp: null, source: {}, reportingComponent: '', reportingInstance: '', ...object }),
};
