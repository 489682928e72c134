import { z } from 'zod';
import { recordTypes } from '../round/work.ts';

/** When to run. Give `schedule` (kdoctor's two forms) or `intervalSeconds`. Durations in seconds win nothing: exactly one form. */
export const scheduleSchema = z.object({
  schedule: z.string().optional().describe('"M N": first round after M minutes, then every N minutes; or a five-field cron expression'),
  startAfterSeconds: z.number().int().nonnegative().optional().describe('With intervalSeconds: delay of the first round'),
  intervalSeconds: z.number().int().positive().optional().describe('Seconds between round starts'),
  timeZone: z.string().optional().describe('IANA zone in which cron fields are read; default UTC'),
  roundTimeoutMinute: z.number().int().positive().optional().describe('Minutes after its start when a round is closed; default 60, at most the interval'),
  roundTimeoutSeconds: z.number().int().positive().optional().describe('The same in seconds; give one of the two'),
  roundNumber: z.number().int().min(-1).optional().describe('Rounds to run; -1 for ever; default 1'),
});
export type Schedule = z.infer<typeof scheduleSchema>;

export const requestSchema = z.object({
  durationInSecond: z.number().int().positive().default(2).describe('Seconds during which each runner sends'),
  qps: z.number().int().positive().default(5).describe('Requests per second, per runner and target'),
  perRequestTimeoutInMS: z.number().int().positive().default(500).describe('Milliseconds after which a request has failed'),
});
export const dnsRequestSchema = requestSchema.extend({
  domain: z.string().default('kubernetes.default.svc.cluster.local').describe('Name to ask for; search domains are not applied'),
  protocol: z.enum(['udp', 'tcp', 'tcp-tls']).default('udp'),
  recordType: z.enum(recordTypes).optional().describe('Default: A for a server addressed by IPv4, AAAA by IPv6'),
});

export const expectSchema = z.object({
  successRate: z.number().min(0).max(1).default(1).describe('Least share of planned requests that must succeed'),
  meanAccessDelayInMs: z.number().int().positive().default(5000).describe('Highest mean latency of successful requests'),
});
export const httpExpectSchema = expectSchema.extend({ statusCode: z.number().int().min(100).max(599).optional().describe('Only this status is good; default 200-399') });
export const dnsExpectSchema = expectSchema.extend({
  rcode: z.string().optional().describe('Only this reply code is good; default NOERROR'),
  answers: z.array(z.string()).optional().describe('Each must be among the answers'),
});

export const netReachTargetSchema = z.object({
  ipv4: z.boolean().default(true),
  ipv6: z.boolean().default(false),
  endpoint: z.boolean().default(true).describe('Every runner of the runtime, by its own address'),
  multusInterface: z.boolean().default(false),
  clusterIP: z.boolean().default(false),
  nodePort: z.boolean().default(false),
  loadBalancer: z.boolean().default(false),
  ingress: z.boolean().default(false),
  enableLatencyMetric: z.boolean().default(true).describe('Percentiles are always on; kept so that kdoctor manifests apply'),
});
export const httpTargetSpecSchema = z.object({
  host: z.string().describe('URL; http:// is put before it when it has no scheme'),
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'PATCH', 'HEAD']).default('GET'),
  http2: z.boolean().default(false),
  bodyConfigmapName: z.string().optional(),
  bodyConfigmapNamespace: z.string().optional(),
  tlsSecretName: z.string().optional(),
  tlsSecretNamespace: z.string().optional(),
  header: z.array(z.string()).optional().describe('"Key: value"; the value may hold colons'),
  enableLatencyMetric: z.boolean().default(true),
});
export const dnsTargetSpecSchema = z.object({
  targetUser: z.object({ server: z.string(), port: z.number().int().min(1).max(65535).default(53) }).optional(),
  targetDns: z
    .object({ serviceName: z.string().optional(), serviceNamespace: z.string().optional(), testIPv4: z.boolean().default(true), testIPv6: z.boolean().default(false) })
    .optional(),
  tlsSecretName: z.string().optional().describe('Secret with ca.crt: a tcp-tls server is then verified'),
  tlsSecretNamespace: z.string().optional(),
  enableLatencyMetric: z.boolean().default(true),
});

/** A workload of its own for the task; accepted through the kdoctor view with a warning until task runtimes exist. */
export const agentSpecSchema = z.looseObject({ kind: z.enum(['Deployment', 'DaemonSet']).default('DaemonSet') });

const taskSpec = { agentSpec: agentSpecSchema.optional(), suspend: z.boolean().default(false).describe('No new rounds while true') };
export const netReachSpecSchema = z.object({ ...taskSpec, schedule: scheduleSchema, request: requestSchema, expect: expectSchema, target: netReachTargetSchema });
export const appHttpHealthySpecSchema = z.object({ ...taskSpec, schedule: scheduleSchema, request: requestSchema, expect: httpExpectSchema, target: httpTargetSpecSchema });
export const netDnsSpecSchema = z.object({ ...taskSpec, schedule: scheduleSchema, request: dnsRequestSchema, expect: dnsExpectSchema, target: dnsTargetSpecSchema });
export type NetReachSpec = z.infer<typeof netReachSpecSchema>;
export type AppHttpHealthySpec = z.infer<typeof appHttpHealthySpecSchema>;
export type NetDnsSpec = z.infer<typeof netDnsSpecSchema>;
