import { z } from 'zod';
import { core, intOrStringSchema, requiredText, text, texts, whole } from '../fields.ts';

export const execActionSchema = core('ExecAction', 'Runs a command in the container; exit code 0 is success', {
  command: texts('The command and its arguments, run without a shell'),
});

const schemeSchema = z.enum(['HTTP', 'HTTPS']).default('HTTP').describe('HTTP or HTTPS; certificates are not checked');
export const httpGetActionSchema = core('HTTPGetAction', 'Asks over HTTP; a status from 200 to 399 is success', {
  path: z.string().default('/').describe('Path to ask for'),
  port: intOrStringSchema.describe('Number or name of the port'),
  host: text('Host to connect to; the address of the pod unless set'),
  scheme: schemeSchema,
  httpHeaders: z
    .array(core('HTTPHeader', 'A header', { name: requiredText('Name of the header'), value: requiredText('Its value') }))
    .optional()
    .describe('Headers to send'),
});

export const tcpSocketActionSchema = core('TCPSocketAction', 'Opens a TCP connection; open is success', {
  port: intOrStringSchema.describe('Number or name of the port'),
  host: text('Host to connect to; the address of the pod unless set'),
});

const grpcActionSchema = core('GRPCAction', 'Asks the gRPC health service', {
  port: z.number().int().describe('Number of the port'),
  service: z.string().default('').describe('Service to ask for'),
});
export type ExecAction = z.infer<typeof execActionSchema>;
export type HTTPGetAction = z.infer<typeof httpGetActionSchema>;
export type TCPSocketAction = z.infer<typeof tcpSocketActionSchema>;
export type GRPCAction = z.infer<typeof grpcActionSchema>;

export const probeSchema = core('Probe', 'Finds out how a container is', {
  exec: execActionSchema.optional().describe('Runs a command'),
  httpGet: httpGetActionSchema.optional().describe('Asks over HTTP'),
  tcpSocket: tcpSocketActionSchema.optional().describe('Opens a connection'),
  grpc: grpcActionSchema.optional().describe('Asks the gRPC health service'),
  initialDelaySeconds: whole('Seconds after the start of the container before the first try'),
  timeoutSeconds: z.number().int().default(1).describe('Seconds after which a try has failed'),
  periodSeconds: z.number().int().default(10).describe('Seconds from try to try'),
  successThreshold: z.number().int().default(1).describe('Successes in a row after a failure that make it healthy'),
  failureThreshold: z.number().int().default(3).describe('Failures in a row that make it unhealthy'),
  terminationGracePeriodSeconds: whole('Seconds the container may take to end when this probe ends it'),
});
export type Probe = z.infer<typeof probeSchema>;
