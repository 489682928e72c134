import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { message, requiredText, text, texts, whole } from '../fields.ts';
import { objectOf } from '../object.ts';

const group = 'io.k8s.api.networking.v1';

const servicePortSchema = message(`${group}.ServiceBackendPort`, 'A port of a service, by name or by number', {
  name: text('Name of the port'),
  number: whole('Number of the port'),
});
const serviceBackendSchema = message(`${group}.IngressServiceBackend`, 'A service of the same namespace', {
  name: z.string().default('').describe('Name of the service'),
  port: servicePortSchema.prefault({}).describe('Its port'),
});
const backendSchema = message(`${group}.IngressBackend`, 'Where requests go', {
  service: serviceBackendSchema.optional().describe('A service of the same namespace'),
  resource: message('io.k8s.api.core.v1.TypedLocalObjectReference', 'Names an object of any kind in the same namespace', {
    apiGroup: text('API group of the object'),
    kind: requiredText('Kind of the object'),
    name: requiredText('Name of the object'),
  })
    .optional()
    .describe('Another object of the same namespace, instead of a service'),
});
const pathSchema = message(`${group}.HTTPIngressPath`, 'Requests of a path', {
  path: text('The path; all unless set'),
  pathType: z.enum(['Exact', 'ImplementationSpecific', 'Prefix']).describe('Exact: this path; Prefix: also what lies below it, element by element'),
  backend: backendSchema.describe('Where they go'),
});
const ruleSchema = message(`${group}.IngressRule`, 'Requests of a host', {
  host: text('Name of the host, or *. and a name for all directly below it; all hosts unless set'),
  http: message(`${group}.HTTPIngressRuleValue`, 'Requests by their paths', { paths: z.array(pathSchema).describe('The paths; the longest that fits counts') })
    .optional()
    .describe('Requests by their paths'),
});
const specSchema = message(`${group}.IngressSpec`, 'Which requests go where', {
  ingressClassName: text('Class of those that shall serve it; the default class unless set'),
  defaultBackend: backendSchema.optional().describe('Where requests go that no rule fits'),
  tls: z
    .array(
      message(`${group}.IngressTLS`, 'A certificate', {
        hosts: texts('Hosts it is for; must be in the certificate'),
        secretName: text('Secret of type kubernetes.io/tls that holds it'),
      }),
    )
    .optional()
    .describe('Certificates of its hosts'),
  rules: z.array(ruleSchema).optional().describe('Which requests go where, by host'),
});

const loadBalancerSchema = message(`${group}.IngressLoadBalancerStatus`, 'Where it is reached', {
  ingress: z
    .array(
      message(`${group}.IngressLoadBalancerIngress`, 'Where it is reached', {
        ip: text('Its address'),
        hostname: text('Its name'),
        ports: z
          .array(
            message(`${group}.IngressPortStatus`, 'State of a port', {
              port: z.number().int().describe('Number of the port'),
              protocol: requiredText('Its protocol'),
              error: text('Why it is not served'),
            }),
          )
          .optional()
          .describe('State of its ports'),
      }),
    )
    .optional()
    .describe('Where it is reached'),
});
const statusSchema = message(`${group}.IngressStatus`, 'State of an ingress', { loadBalancer: loadBalancerSchema.prefault({}).describe('Where it is reached') });

export type IngressServiceBackend = z.infer<typeof serviceBackendSchema>;
export type IngressBackend = z.infer<typeof backendSchema>;
export type HTTPIngressPath = z.infer<typeof pathSchema>;
export type IngressRule = z.infer<typeof ruleSchema>;
export type IngressSpec = z.infer<typeof specSchema>;
export type IngressStatus = z.infer<typeof statusSchema>;
export interface Ingress extends KubeObject<IngressSpec, IngressStatus> {}

export const ingressSchema = objectOf('networking.k8s.io/v1', 'Ingress', 'Lets HTTP requests in to services, by host and path', {
  spec: specSchema.prefault({}).describe('Which requests go where'),
  status: statusSchema.optional().describe('What was observed of it'),
});
