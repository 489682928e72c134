import { z } from 'zod';
import { recordTypes } from '../round/work.ts';
import { bounds } from '../schedule.ts';
import { agentSpecSchema } from './agent-spec.ts';

/** When to run. kdoctor's two forms in `schedule`, or seconds in `intervalSeconds` and `startAfterSeconds`; none of them: one round, now. */
export const scheduleSchema = z
  .object({
    schedule: z
      .string()
      .optional()
      .describe('"M N": the first round M minutes after creation, then one every N minutes; or a cron expression of five fields. Not together with the seconds form'),
    startAfterSeconds: z.number().int().nonnegative().max(bounds.scheduleSeconds).optional().describe('Seconds from creation to the first round, a year at most'),
    intervalSeconds: z.number().int().positive().max(bounds.scheduleSeconds).optional().describe('Seconds between the starts of two rounds, a year at most'),
    timeZone: z.string().optional().describe('IANA time zone in which the cron fields are read; default UTC'),
    roundTimeoutMinute: z
      .number()
      .int()
      .positive()
      .max(bounds.roundTimeoutMinutes)
      .optional()
      .describe('Minutes after its start when a round is closed, at most the interval and a week. Default: 60 minutes or the interval, whichever is shorter'),
    roundTimeoutSeconds: z.number().int().positive().max(bounds.roundTimeoutSeconds).optional().describe('The same in seconds; give one of the two'),
    roundNumber: z.number().int().min(-1).max(bounds.rounds).default(1).describe('How many rounds to run; -1 for ever'),
  })
  .describe('When rounds start and how long they may take. Without it: one round, at once');
export type Schedule = z.infer<typeof scheduleSchema>;

const requestFields = {
  durationInSecond: z.number().int().positive().max(bounds.durationSeconds).default(2).describe('Seconds during which each runner sends requests, a day at most'),
  qps: z.number().int().positive().max(bounds.qps).default(5).describe('Requests per second, per runner and per target; what the runners can do may be less'),
  perRequestTimeoutInMS: z.number().int().positive().max(bounds.requestMs).default(500).describe('Milliseconds after which a request has failed, an hour at most'),
};
export const requestSchema = z.object(requestFields).describe('How hard to probe: every runner sends qps x duration requests to every target');
export const dnsRequestSchema = z
  .object({
    ...requestFields,
    domain: z.string().min(1).default('kubernetes.default.svc.cluster.local').describe('Name to ask for, taken as fully qualified; search domains are not applied'),
    protocol: z.enum(['udp', 'tcp', 'tcp-tls']).default('udp').describe('How to talk to the server'),
    recordType: z.enum(recordTypes).optional().describe('Record to ask for. Default: A at a server addressed by IPv4, AAAA at one addressed by IPv6'),
  })
  .describe('What to ask for and how hard: every runner sends qps x duration queries to every server');

const expectFields = {
  successRate: z.number().min(0).max(1).default(1).describe('Least share of the planned requests that must succeed, 0 to 1'),
  meanAccessDelayInMs: z.number().int().positive().max(bounds.requestMs).default(5000).describe('Highest mean latency of the successful requests, milliseconds'),
};
export const expectSchema = z.object(expectFields).describe('What counts as good; a target that misses one of these fails the round');
export const httpExpectSchema = z
  .object({ ...expectFields, statusCode: z.number().int().min(100).max(599).optional().describe('Only this status code is good. Default: 200 to 399') })
  .describe('What counts as good; a target that misses one of these fails the round');
export const rcodes = [
  'NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN', 'YXRRSET', 'NXRRSET', 'NOTAUTH', 'NOTZONE',
] as const;
export const dnsExpectSchema = z
  .object({
    ...expectFields,
    rcode: z.enum(rcodes).optional().describe('Only this reply code is good. Default: NOERROR'),
    answers: z.array(z.string().min(1)).max(64).optional().describe('Each of these must be among the answers, written as the record type has it (an address, a name)'),
  })
  .describe('What counts as good; a server that misses one of these fails the round');

const enableLatencyMetric = z.boolean().default(true).describe('Percentiles are always measured; kept so that kdoctor manifests apply');
export const netReachTargetSchema = z
  .object({
    ipv4: z.boolean().default(true).describe('Test addresses of IPv4'),
    ipv6: z.boolean().default(false).describe('Test addresses of IPv6'),
    endpoint: z.boolean().default(true).describe('Test every runner of the runtime by its own address'),
    multusInterface: z.boolean().default(false).describe('Test every further interface (Multus) of every runner'),
    clusterIP: z.boolean().default(false).describe('Test the cluster address of the Service of the runners'),
    nodePort: z.boolean().default(false).describe('Test the node port of the Service of the runners, on every node'),
    loadBalancer: z.boolean().default(false).describe('Test the load balancer of the Service of the runners, by address or name'),
    ingress: z.boolean().default(false).describe('Test the Ingress of the runners, by the Host that its rule is for'),
    enableLatencyMetric,
  })
  .describe('Which ways from every runner to every other one are tested');
export const httpMethods = ['GET', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'PATCH', 'HEAD'] as const;
export const httpTargetSpecSchema = z
  .object({
    host: z.string().min(1).max(8192).describe('URL to request; http:// is put before it when it has no scheme. The certificate of an https server is verified only with a CA from tlsSecretName'),
    method: z.enum(httpMethods).default('GET').describe('Request method'),
    http2: z.boolean().default(false).describe('Speak HTTP/2, negotiated in TLS; needs an https:// URL'),
    bodyConfigmapName: z.string().min(1).optional().describe('ConfigMap whose data, as one flat JSON object, is the request body'),
    bodyConfigmapNamespace: z.string().min(1).optional().describe('Namespace of that ConfigMap; the task’s own when not given'),
    tlsSecretName: z
      .string()
      .min(1)
      .optional()
      .describe('Secret with ca.crt (the server is then verified) and, for a client certificate, tls.crt and tls.key'),
    tlsSecretNamespace: z.string().min(1).optional().describe('Namespace of that Secret; the task’s own when not given'),
    header: z.array(z.string().max(8192)).max(100).optional().describe('Request headers, each "Key: value"; the value may hold colons'),
    enableLatencyMetric,
  })
  .describe('The HTTP service that every runner requests');
export const dnsTargetSpecSchema = z
  .object({
    targetUser: z
      .object({
        server: z.string().min(1).max(253).describe('IP address or host name of the DNS server'),
        port: z.number().int().min(1).max(65535).default(53).describe('Its port'),
      })
      .optional()
      .describe('A DNS server by address. Give either this or targetDns'),
    targetDns: z
      .object({
        serviceName: z.string().optional().describe('Service of the cluster’s DNS; when not given, those with the usual label (k8s-app=kube-dns)'),
        serviceNamespace: z.string().optional().describe('Its namespace; kube-system unless set'),
        testIPv4: z.boolean().default(true).describe('Ask it by IPv4'),
        testIPv6: z.boolean().default(false).describe('Ask it by IPv6'),
      })
      .optional()
      .describe('The DNS service of the cluster. Give either this or targetUser'),
    tlsSecretName: z.string().min(1).optional().describe('Secret with ca.crt: a tcp-tls server is then verified'),
    tlsSecretNamespace: z.string().min(1).optional().describe('Namespace of that Secret; the task’s own when not given'),
    enableLatencyMetric,
  })
  .describe('The DNS server that every runner asks');

const taskSpec = {
  agentSpec: agentSpecSchema.optional(),
  suspend: z.boolean().default(false).describe('While true no new round starts; a running one ends normally'),
  schedule: scheduleSchema.prefault({}),
};
export const netReachSpecSchema = z
  .object({ ...taskSpec, request: requestSchema.prefault({}), expect: expectSchema.prefault({}), target: netReachTargetSchema.prefault({}) })
  .describe('What to test between the runners, and when');
export const appHttpHealthySpecSchema = z
  .object({ ...taskSpec, request: requestSchema.prefault({}), expect: httpExpectSchema.prefault({}), target: httpTargetSpecSchema })
  .describe('Which HTTP service to test, and when');
export const netDnsSpecSchema = z
  .object({ ...taskSpec, request: dnsRequestSchema.prefault({}), expect: dnsExpectSchema.prefault({}), target: dnsTargetSpecSchema })
  .describe('Which DNS server to test, and when');
export type NetReachSpec = z.infer<typeof netReachSpecSchema>;
export type AppHttpHealthySpec = z.infer<typeof appHttpHealthySpecSchema>;
export type NetDnsSpec = z.infer<typeof netDnsSpecSchema>;
