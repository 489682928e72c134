import { z } from 'zod';

/** The task kinds a round can belong to, as stored (roundsman.io spelling). */
export const taskKinds = ['NetReach', 'AppHttpHealthy', 'NetDNS'] as const;
export const taskKindSchema = z.enum(taskKinds);
export type TaskKind = (typeof taskKinds)[number];

/** What a round must reach to count as good. Absent members are not checked. */
export const successConditionSchema = z.object({
  /** Successes divided by the planned requests, 0..1. Unsent requests count against it. */
  successRate: z.number().min(0).max(1).optional(),
  /** Mean latency of successful requests from their intended send time, milliseconds. */
  meanAccessDelayInMs: z.number().positive().optional(),
  /** HTTP: any other status code makes the request a failure. Absent: 200..399 are good. */
  statusCode: z.number().int().min(100).max(599).optional(),
  /** DNS: any other reply code makes the query a failure. Absent: NOERROR is good. */
  rcode: z.string().optional(),
  /** DNS: every one of these must be among the answers' data. */
  answers: z.array(z.string()).optional(),
});
export type SuccessCondition = z.infer<typeof successConditionSchema>;

/** The path by which a target is reached; the first layer that fails names what is broken. */
export const layers = ['endpoint', 'clusterIP', 'nodePort', 'loadBalancer', 'ingress', 'url', 'dns'] as const;

const targetBase = {
  /** Stable within the task: `endpoint/v4/node-2`, `url`, `dns/udp/10.0.0.10:53`. Part of the natural key of a result. */
  id: z.string().min(1).max(253),
  layer: z.enum(layers),
  /** The node the target lives on, when it lives on one of ours: makes the node x node matrix. */
  node: z.string().optional(),
  /** Layer `endpoint`: the interface of its pod that is addressed, when it is not the first (Multus). */
  interface: z.string().optional(),
  /** What is addressed by a name is resolved in this family only. */
  family: z.enum(['v4', 'v6']).optional(),
};

export const httpTargetSchema = z.object({
  ...targetBase,
  probe: z.literal('http'),
  /** Absolute http:// or https:// URL. Its host is the Host header and TLS server name unless a header says otherwise. */
  url: z.string(),
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'PATCH', 'HEAD']).default('GET'),
  /** In the order given; names may repeat. */
  headers: z.array(z.tuple([z.string(), z.string()])).default([]),
  http2: z.boolean().default(false),
  /** Where to connect instead of resolving the URL's host (built-in services of the cluster). */
  connect: z.object({ host: z.string(), port: z.number().int().min(1).max(65535) }).optional(),
  /** The round's materials hold a request body. */
  hasBody: z.boolean().default(false),
  /** The round's materials hold TLS files (ca, cert, key). Without a CA the server is not verified, as kdoctor has it. */
  hasTls: z.boolean().default(false),
});
export type HttpTarget = z.infer<typeof httpTargetSchema>;

export const recordTypes = ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'PTR', 'SOA', 'SRV', 'TXT', 'CAA'] as const;

export const dnsTargetSchema = z.object({
  ...targetBase,
  probe: z.literal('dns'),
  /** IP address or host name of the DNS server. */
  server: z.string(),
  port: z.number().int().min(1).max(65535),
  protocol: z.enum(['udp', 'tcp', 'tcp-tls']),
  /** Fully qualified, with or without the last dot; search domains are never applied. */
  domain: z.string(),
  recordType: z.enum(recordTypes),
  /** The round's materials hold a CA to verify a tcp-tls server with. */
  hasTls: z.boolean().default(false),
  /** TLS server name, when it differs from `server`. */
  serverName: z.string().optional(),
});
export type DnsTarget = z.infer<typeof dnsTargetSchema>;

export const probeTargetSchema = z.discriminatedUnion('probe', [httpTargetSchema, dnsTargetSchema]);
export type ProbeTarget = z.infer<typeof probeTargetSchema>;

/** How hard to probe: for every target `qps * durationMs / 1000` requests, open loop, evenly spaced. */
export const requestBudgetSchema = z.object({
  durationMs: z.number().int().positive(),
  qps: z.number().positive(),
  timeoutMs: z.number().int().positive(),
});
export type RequestBudget = z.infer<typeof requestBudgetSchema>;

/** One round for one runner, whole: whoever holds it needs nothing else but the round's materials (secrets, bodies). */
export const workOrderSchema = z.object({
  runner: z.string(),
  node: z.string(),
  kind: taskKindSchema,
  namespace: z.string(),
  task: z.string(),
  taskUid: z.string(),
  round: z.number().int().positive(),
  /** RFC 3339, the round's scheduled start; part of the natural key of every result. */
  roundStart: z.iso.datetime(),
  /** RFC 3339; what is not reported by then is recorded as missing. */
  deadline: z.iso.datetime(),
  request: requestBudgetSchema,
  expect: successConditionSchema,
  targets: z.array(probeTargetSchema),
  /** True when the runner must fetch TLS files or a body from the scheduler before it starts. */
  needsMaterials: z.boolean().default(false),
});
export type WorkOrder = z.infer<typeof workOrderSchema>;

/** What must not lie in a stream: fetched by the runner for a round assigned to it, kept in memory only. */
export const materialsSchema = z.object({
  /** Base64 of the request body. */
  body: z.string().optional(),
  /** PEM texts. */
  tls: z.object({ ca: z.string().optional(), cert: z.string().optional(), key: z.string().optional() }).optional(),
});
export type Materials = z.infer<typeof materialsSchema>;
