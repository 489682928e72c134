import { z } from 'zod';
import { conditionSchema, type KubeObject } from '../../meta.ts';
import { intOrStringSchema, text } from '../fields.ts';
import { objectOf } from '../object.ts';

const pathSchema = z.object({
  path: z.string().describe('Requests of this path and of what lies below it; / for all'),
  service: z
    .object({
      name: z.string().describe('Name of a service of the same namespace'),
      port: intOrStringSchema.describe('Its port, by number or by name'),
    })
    .describe('The service they go to'),
});
const specSchema = z.object({
  host: z.string().describe('The name by which the services are reached, from pods and from nodes'),
  paths: z.array(pathSchema).describe('Which service answers which path'),
});
const statusSchema = z.object({
  address: text('The address that the host resolves to'),
  conditions: z.array(conditionSchema).optional().describe('What holds of it: Ready'),
});

export type DnsPath = z.infer<typeof pathSchema>;
export type DnsSpec = z.infer<typeof specSchema>;
export type DnsStatus = z.infer<typeof statusSchema>;
export interface Dns extends KubeObject<DnsSpec, DnsStatus> {}

export const dnsSchema = objectOf('roundsman.io/v1', 'DNS', 'A name by which services are reached, each by a path', {
  spec: specSchema.describe('The name, and which service answers which path'),
  status: statusSchema.optional().describe('What was observed of it'),
});
