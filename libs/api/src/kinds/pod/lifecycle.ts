import { z } from 'zod';
import { core } from '../fields.ts';
import { execActionSchema, httpGetActionSchema, tcpSocketActionSchema } from './probe.ts';

const handlerSchema = core('LifecycleHandler', 'What is done at a turn in the life of a container', {
  exec: execActionSchema.optional().describe('Runs a command'),
  httpGet: httpGetActionSchema.optional().describe('Asks over HTTP'),
  tcpSocket: tcpSocketActionSchema.optional().describe('Kept for old manifests; does nothing'),
  sleep: core('SleepAction', 'Waits', { seconds: z.number().int().describe('How long') }).optional().describe('Waits'),
});
export type LifecycleHandler = z.infer<typeof handlerSchema>;

export const lifecycleSchema = core('Lifecycle', 'What is done after the start and before the end of a container', {
  postStart: handlerSchema.optional().describe('Right after the start; when it fails the container is ended'),
  preStop: handlerSchema.optional().describe('Before the container is ended; takes from its grace period'),
});
export type Lifecycle = z.infer<typeof lifecycleSchema>;
