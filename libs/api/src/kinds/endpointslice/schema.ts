import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { flag, message, saidText, text, textMap, whole } from '../fields.ts';
import { objectOf } from '../object.ts';
import { objectReferenceSchema } from '../pod/reference.ts';
import { protocolSchema } from '../service/schema.ts';

const group = 'io.k8s.api.discovery.v1';

const conditionsSchema = message(`${group}.EndpointConditions`, 'How an endpoint is', {
  ready: flag('Whether it takes traffic; unset counts as true'),
  serving: flag('The same, also of one that is about to end'),
  terminating: flag('Whether it is about to end'),
});
const hintsSchema = message(`${group}.EndpointHints`, 'Who had better use an endpoint', {
  forZones: z
    .array(message(`${group}.ForZone`, 'A zone', { name: z.string().describe('Name of the zone') }))
    .optional()
    .describe('Zones whose nodes had better use it'),
});
const endpointSchema = message(`${group}.Endpoint`, 'One thing behind a service', {
  addresses: z.array(z.string()).describe('Its addresses, of the type of the slice; they lead to the same'),
  conditions: conditionsSchema.prefault({}).describe('How it is'),
  hostname: text('Its name below that of the service'),
  targetRef: objectReferenceSchema.optional().describe('What has the addresses'),
  deprecatedTopology: textMap('Labels of older versions'),
  nodeName: text('Node on which it is'),
  zone: text('Zone in which it is'),
  hints: hintsSchema.optional().describe('Who had better use it'),
});
const portSchema = message(`${group}.EndpointPort`, 'A port of all endpoints of a slice', {
  name: z.string().default('').describe('Name of the port of the service'),
  protocol: protocolSchema.default('TCP').describe('TCP, UDP or SCTP'),
  port: whole('Number of the port; unset: all ports'),
  appProtocol: saidText('What is spoken on it'),
});

export type Endpoint = z.infer<typeof endpointSchema>;
export type EndpointPort = z.infer<typeof portSchema>;
export interface EndpointSlice extends Omit<KubeObject, 'spec' | 'status'> {
  addressType: 'FQDN' | 'IPv4' | 'IPv6';
  endpoints: Endpoint[];
  ports: EndpointPort[];
}

export const endpointSliceSchema = objectOf(`discovery.k8s.io/v1`, 'EndpointSlice', 'Some of what is behind a service: all slices of one together are all of it', {
  addressType: z.enum(['FQDN', 'IPv4', 'IPv6']).describe('What its addresses are; cannot be changed'),
  endpoints: z.array(endpointSchema).default([]).describe('What is behind the service'),
  ports: z.array(portSchema).default([]).describe('The ports of each of them'),
});
