import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { message, requiredText, saidText, text } from '../fields.ts';
import { objectOf } from '../object.ts';

const group = 'io.k8s.api.networking.v1';

const specSchema = message(`${group}.IngressClassSpec`, 'Who serves ingresses of a class', {
  controller: z.string().default('').describe('Who serves them, as a name with a domain: roundsman.io/ingress; cannot be changed'),
  parameters: message(`${group}.IngressClassParametersReference`, 'Names an object', {
    apiGroup: text('API group of the object'),
    kind: requiredText('Kind of the object'),
    name: requiredText('Name of the object'),
    scope: text('Cluster or Namespace'),
    namespace: saidText('Namespace of the object'),
  })
    .optional()
    .describe('An object that tells the controller more'),
});
export type IngressClassSpec = z.infer<typeof specSchema>;
export interface IngressClass extends KubeObject<IngressClassSpec> {}

/** Ingresses that name no class are of the class that has this annotation with the value `true`. */
export const defaultIngressClassAnnotation = 'ingressclass.kubernetes.io/is-default-class';

export const ingressClassSchema = objectOf('networking.k8s.io/v1', 'IngressClass', 'Names those that serve ingresses', {
  spec: specSchema.prefault({}).describe('Who serves ingresses of this class'),
});
