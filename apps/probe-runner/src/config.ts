import { defaultCapacityQps } from '@roundsman/api/wire';
import { z } from 'zod';
import { everyAddress } from './echo/addresses.ts';

const list = (text: string): string[] => text.split(',').map((part) => part.trim()).filter((part) => part !== '');
export const texts = z.string().default('').transform(list);
export const port = z.coerce.number().int().min(1).max(65_535).optional();

/** `10.0.0.5:5432`, `[::1]:4222`. */
export const endpoint = z.string().transform((text, context) => {
  const match = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text);
  if (match !== null) return { address: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
  context.addIssue(`"${text}" is not an address and a port`);
  return z.NEVER;
});

const address = z.union([z.ipv4(), z.ipv6()]);
export const addresses = z.string().default('127.0.0.1').transform((text) => (text === 'any' ? everyAddress() : list(text))).pipe(z.array(address).min(1));

/** Settings of one runner. */
export const runnerConfigSchema = z.object({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a Kubernetes name'),
  node: z.string().min(1),
  runtime: z.string().min(1).default('default'),
  /** Spool, done-list, journal, certificate: must outlive a restart, and no other runner may use it. */
  dataDir: z.string().min(1),
  /** `namespace/name` of the pod it runs in. */
  pod: z.string().regex(/^[^/]+\/[^/]+$/, 'must be a namespace and a name').optional(),
  /** IP addresses of the echo target, separated by commas; `any`: every address there is. */
  bindAddresses: addresses,
  /** Addresses by which others reach it, where these are not those it listens on: of each family the first is told, the certificate has them all. */
  advertiseAddresses: z.string().default('').transform(list).pipe(z.array(address)),
  /** When it is told to end: `return` leaves its rounds to a runner of its name that comes back, `report` reports what was measured, since none will. */
  onStop: z.enum(['return', 'report']).default('return'),
  /** Requests per second it may be asked for, all rounds together. */
  capacityQps: z.coerce.number().positive().default(defaultCapacityQps),
  maxRounds: z.coerce.number().int().positive().default(16),
  /** MiB of JavaScript heap for one round. */
  roundHeapMb: z.coerce.number().int().min(32).default(192),
  /** How long a result stays on disk once it is in Postgres; one that is not there any more by then (a standby took over) is sent again. */
  keepCommittedSeconds: z.coerce.number().nonnegative().max(86_400).default(600),
  spoolMaxBytes: z.coerce.number().int().min(4_096).default(64 << 20),
  httpPort: port,
  httpsPort: port,
  dnsPort: port,
  dotPort: port,
  udpPort: port,
  /** Further names in the certificate of the echo target. */
  certificateNames: texts,
  /** DNS server for names the echo target does not know, address:port; such names are refused without it. */
  dnsUpstream: endpoint.optional(),
  /** Target policy: CIDR ranges that are forbidden besides link-local ones, endpoints of the product itself, and what is open all the same. */
  deny: texts,
  denyEndpoints: z.string().default('').transform(list).pipe(z.array(endpoint)),
  allow: texts,
});
export type RunnerConfig = z.infer<typeof runnerConfigSchema>;

/** The name under which every runner's echo target can be addressed; its certificate has it. */
export const echoServiceName = 'echo.roundsman-system.svc';
