import { z } from 'zod';

const port = z.coerce.number().int().min(0).max(65_535);

/** Environment variables `ROUNDSMAN_INGRESS_<KEY>`. */
export const settingsSchema = z.object({
  node: z.string().min(1).describe('Node whose agent keeps this proxy'),
  natsUrl: z.string().min(1).default('nats://127.0.0.1:4222').describe('NATS servers, separated by commas'),
  natsSeedFile: z.string().optional().describe('nkey seed of its identity, ingress-<node>; left out where NATS asks for none'),
  natsCaFile: z.string().optional().describe('PEM of the authority behind the certificate of NATS: it then connects by TLS'),
  bind: z.string().default('::').transform((text) => text.split(',').map((part) => part.trim()).filter((part) => part !== '')).pipe(z.array(z.union([z.ipv4(), z.ipv6()])).min(1)).describe('Addresses it listens on, separated by commas; :: is every address, of both families'),
  httpPort: port.default(0).describe('Port for HTTP, the same on every address; 0: a free one'),
  httpsPort: port.default(0).describe('The same for HTTPS'),
  connectMs: z.coerce.number().int().positive().default(2_000).describe('How long a connection to an endpoint may take before another endpoint is tried'),
  responseMs: z.coerce.number().int().positive().default(60_000).describe('How long an endpoint may be silent before it answers (504)'),
  clientMs: z.coerce.number().int().positive().default(60_000).describe('How long a client may be silent within a request or take nothing of its answer, and how long its headers may take in all (408)'),
  keepAliveMs: z.coerce.number().int().positive().default(75_000).describe('How long an idle connection of a client is kept'),
  headerBytes: z.coerce.number().int().min(1_024).default(32_768).describe('Largest headers of a request (431)'),
  connections: z.coerce.number().int().positive().default(20_000).describe('Connections of clients at a time, per port; more are refused'),
  drainMs: z.coerce.number().int().nonnegative().default(4_000).describe('How long requests that are under way may take when it stops'),
  healthHost: z.string().default('127.0.0.1'),
  healthPort: port.optional().describe('Port of /healthz, /readyz and /metrics; not served unless set'),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info').describe('debug tells of every request'),
});
export type Settings = z.infer<typeof settingsSchema>;
