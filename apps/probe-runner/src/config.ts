import { defaultCapacityQps } from '@roundsman/api';
import { z } from 'zod';

const list = (text: string): string[] => text.split(',').map((part) => part.trim()).filter((part) => part !== '');
const texts = z.string().default('').transform(list);
const port = z.coerce.number().int().min(1).max(65_535).optional();

/** `10.0.0.5:5432`, `[::1]:4222`. */
const endpoint = z.string().transform((text, context) => {
  const match = /^(\[[^\]]+\]|[^:[\]]+):(\d{1,5})$/.exec(text);
  if (match !== null) return { address: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
  context.addIssue(`"${text}" is not an address and a port`);
  return z.NEVER;
});

/** Settings of one runner. */
export const runnerConfigSchema = z.object({
  name: z.string().regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, 'must be a Kubernetes name'),
  node: z.string().min(1),
  runtime: z.string().min(1).default('default'),
  /** Spool, done-list, journal, certificate: must outlive a restart, and no other runner may use it. */
  dataDir: z.string().min(1),
  /** IP addresses of the echo target, separated by commas. */
  bindAddresses: z.string().default('127.0.0.1').transform(list).pipe(z.array(z.union([z.ipv4(), z.ipv6()])).min(1)),
  /** Requests per second it may be asked for, all rounds together. */
  capacityQps: z.coerce.number().positive().default(defaultCapacityQps),
  maxRounds: z.coerce.number().int().positive().default(16),
  /** MiB of JavaScript heap for one round. */
  roundHeapMb: z.coerce.number().int().min(32).default(192),
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
