import { z } from 'zod';
import { objectOf } from '../kinds/object.ts';
import { agentSpecSchema } from '../kinds/agent-spec.ts';
import { httpMethods } from '../kinds/spec.ts';
import { bounds } from '../schedule.ts';

/** `kdoctor.io/v1beta1` as its manifests are written: its fields, and its defaults where they can work. */
export const kdoctorVersion = 'kdoctor.io/v1beta1';

const schedule = z
  .object({
    schedule: z.string().optional().describe('"M N": the first round after M minutes, then every N minutes; or five cron fields'),
    roundTimeoutMinute: z.number().int().min(1).max(bounds.roundTimeoutMinutes).optional().describe('Minutes after its start when a round is closed. Default: 60 or the interval, whichever is shorter'),
    roundNumber: z.number().int().min(-1).max(bounds.rounds).default(1).describe('How many rounds to run; -1 for ever'),
  })
  .describe('When rounds start and how long they may take');

const requestFields = (qps: number) => ({
  durationInSecond: z.number().int().min(1).max(bounds.durationSeconds).default(2).describe('Seconds during which each agent sends requests'),
  qps: z.number().int().min(1).max(bounds.qps).default(qps).describe('Requests per second, per agent and target'),
  // kdoctor's schema says 5, its documentation 500; nobody means 5.
  perRequestTimeoutInMS: z.number().int().min(1).max(bounds.requestMs).default(500).describe('Milliseconds after which a request has failed'),
});
/** What an absent `request` means there; a present one starts from 5 requests per second. */
const absentRequest = { qps: 10 };

const expect = z
  .object({
    successRate: z.number().min(0).max(1).default(1).describe('Least share of successful requests'),
    meanAccessDelayInMs: z.number().int().min(1).max(bounds.requestMs).default(5000).describe('Highest mean latency, milliseconds'),
    statusCode: z.number().int().min(100).max(599).optional().describe('Expected HTTP status; only AppHttpHealthy looks at it'),
  })
  .describe('What counts as good');
const enableLatencyMetric = z.boolean().default(false).describe('Percentiles are always measured');

const netReachTarget = z
  .object({
    ipv4: z.boolean().default(true).describe('Test addresses of IPv4'),
    ipv6: z.boolean().default(false).describe('Test addresses of IPv6'),
    endpoint: z.boolean().default(true).describe('Test the agents by their own addresses'),
    multusInterface: z.boolean().default(false).describe('Test further interfaces of the agents'),
    clusterIP: z.boolean().default(true).describe('Test the cluster address of the agents’ service'),
    nodePort: z.boolean().default(true).describe('Test the node port of the agents’ service'),
    loadBalancer: z.boolean().default(false).describe('Test the load balancer of the agents’ service'),
    ingress: z.boolean().default(false).describe('Test the agents’ ingress'),
    enableLatencyMetric,
  })
  .describe('Which ways are tested');
const httpTarget = z
  .object({
    host: z.string().min(1).max(8192).describe('URL to request; http:// is put before it when it has no scheme'),
    method: z.enum(httpMethods).default('GET').describe('Request method'),
    http2: z.boolean().default(false).describe('Speak HTTP/2, negotiated in TLS'),
    bodyConfigmapName: z.string().optional().describe('ConfigMap whose data, as one flat JSON object, is the request body'),
    bodyConfigmapNamespace: z.string().optional().describe('Its namespace'),
    tlsSecretName: z.string().optional().describe('Secret with ca.crt, tls.crt and tls.key'),
    tlsSecretNamespace: z.string().optional().describe('Its namespace'),
    header: z.array(z.string()).optional().describe('Request headers, each "Key: value"'),
    enableLatencyMetric,
  })
  .describe('The HTTP service to test');
const dnsTarget = z
  .object({
    targetUser: z
      .object({ server: z.string().min(1).describe('Address of the DNS server'), port: z.number().int().min(1).max(65535).default(53).describe('Its port') })
      .optional()
      .describe('A DNS server by address'),
    targetDns: z
      .object({
        serviceName: z.string().optional().describe('Service of the cluster’s DNS'),
        serviceNamespace: z.string().optional().describe('Its namespace'),
        testIPv4: z.boolean().default(true).describe('Ask it by IPv4'),
        testIPv6: z.boolean().default(false).describe('Ask it by IPv6'),
      })
      .optional()
      .describe('The DNS service of the cluster'),
    enableLatencyMetric,
  })
  .describe('The DNS server to test');

const time = z.string().optional();
const nodes = z.array(z.string()).optional();
/** kdoctor's status; read only. */
const status = z
  .object({
    expectedRound: z.number().int().optional().describe('Rounds the task will run'),
    doneRound: z.number().int().optional().describe('Rounds that are closed'),
    finish: z.boolean().optional().describe('Whether all rounds are done'),
    finishTime: time.describe('When the last round was closed'),
    lastRoundStatus: z.enum(['succeed', 'fail', 'unknown']).optional().describe('How the last round ended'),
    history: z
      .array(
        z.object({
          roundNumber: z.number().int().describe('Number of the round'),
          status: z.enum(['notstarted', 'ongoing', 'succeed', 'fail']).describe('How it is'),
          failureReason: z.string().optional().describe('Why it failed'),
          startTimeStamp: time.describe('When it started'),
          deadLineTimeStamp: time.describe('When it is closed at latest'),
          endTimeStamp: time.describe('When it was closed'),
          duration: z.string().optional().describe('How long it took'),
          expectedActorNumber: z.number().int().optional().describe('Agents expected to report'),
          succeedAgentNodeList: nodes.describe('Nodes that succeeded'),
          failedAgentNodeList: nodes.describe('Nodes that failed'),
          notReportAgentNodeList: nodes.describe('Nodes that stayed silent'),
        }),
      )
      .optional()
      .describe('Last rounds, newest first'),
    resource: z
      .object({
        runtimeName: z.string().optional().describe('Workload that carries the task'),
        runtimeType: z.string().optional().describe('Its kind'),
        runtimeStatus: z.string().optional().describe('Its state'),
        serviceNameV4: z.string().optional().describe('Its service for IPv4'),
        serviceNameV6: z.string().optional().describe('Its service for IPv6'),
      })
      .optional()
      .describe('What carries the task'),
  })
  .describe('How the task fares');

const spec = { agentSpec: agentSpecSchema.optional(), schedule: schedule.prefault({}), expect: expect.prefault({}) };
const httpRequest = z.object(requestFields(5)).describe('How hard to probe').prefault(absentRequest);
const dnsRequest = z
  .object({
    ...requestFields(5),
    domain: z.string().min(1).default('kubernetes.default.svc.cluster.local').describe('Name to ask for'),
    protocol: z.enum(['udp', 'tcp', 'tcp-tls']).default('udp').describe('How to talk to the server'),
  })
  .describe('What to ask for and how hard')
  .prefault({});

export const kdoctorSchemas = {
  NetReach: objectOf(kdoctorVersion, 'NetReach', 'Tests from every node that every other one can be reached', {
    spec: z.object({ ...spec, request: httpRequest, target: netReachTarget.prefault({}) }).describe('What to test, and when').prefault({}),
    status: status.optional(),
  }),
  AppHttpHealthy: objectOf(kdoctorVersion, 'AppHttpHealthy', 'Requests an HTTP service from every node', {
    spec: z.object({ ...spec, request: httpRequest, target: httpTarget }).describe('What to test, and when'),
    status: status.optional(),
  }),
  Netdns: objectOf(kdoctorVersion, 'Netdns', 'Asks a DNS server from every node', {
    spec: z
      .object({ ...spec, request: dnsRequest, target: dnsTarget, sourceAgentNodeSelector: z.looseObject({}).optional().describe('Not used by kdoctor, nor here') })
      .describe('What to test, and when'),
    status: status.optional(),
  }),
} as const;
