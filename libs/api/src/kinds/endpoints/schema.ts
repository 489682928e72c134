import { z } from 'zod';
import type { KubeObject } from '../../meta.ts';
import { core, text } from '../fields.ts';
import { objectOf } from '../object.ts';
import { objectReferenceSchema } from '../pod/reference.ts';
import { protocolSchema } from '../service/schema.ts';

const addressSchema = core('EndpointAddress', 'An address behind a service', {
  ip: z.string().describe('The address'),
  hostname: text('Its name below that of the service'),
  nodeName: text('Node on which it is'),
  targetRef: objectReferenceSchema.optional().describe('What has the address'),
});
const portSchema = core('EndpointPort', 'A port of the addresses of a subset', {
  name: text('Name of the port of the service'),
  port: z.number().int().describe('Number of the port'),
  protocol: protocolSchema.default('TCP').describe('TCP, UDP or SCTP'),
  appProtocol: text('What is spoken on it'),
});
const subsetSchema = core('EndpointSubset', 'Addresses with the same ports', {
  addresses: z.array(addressSchema).optional().describe('Addresses that are ready'),
  notReadyAddresses: z.array(addressSchema).optional().describe('Addresses that are not'),
  ports: z.array(portSchema).optional().describe('Their ports'),
});

export type EndpointAddress = z.infer<typeof addressSchema>;
export type EndpointSubset = z.infer<typeof subsetSchema>;
/** The older form of what EndpointSlices tell: all addresses behind the service of its name. */
export interface Endpoints extends Omit<KubeObject, 'spec' | 'status'> {
  subsets?: EndpointSubset[] | undefined;
}

export const endpointsSchema = objectOf('v1', 'Endpoints', 'The addresses behind the service of the same name', {
  subsets: z.array(subsetSchema).optional().describe('The addresses, by their ports'),
});
