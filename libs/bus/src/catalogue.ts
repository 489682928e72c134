import { z } from 'zod';
import { clusterNetworkSchema, liveSampleSchema, materialsSchema, roundResultSchema, taskKindSchema, workOrderSchema } from '@roundsman/api/wire';

/**
 * Every message of the product: subject, schema, how it is delivered. Subjects are built and parsed only through
 * `subjectOf` and `paramsOf` (subject.ts), which encode Kubernetes names (`.` becomes `_`) and let nothing else through.
 * `{param}` is one token.
 */
export const prefix = 'rounds.v1';

export interface CoreMessage<T> {
  readonly delivery: 'core';
  readonly subject: string;
  readonly schema: z.ZodType<T>;
  /** Sent without a check because the sender built it from checked parts and there are many; receivers always check. */
  readonly checkedBySender?: boolean;
  /** Followed by several services, which may run in one process: it is decoded once there, and nobody may change its payload. */
  readonly shared?: boolean;
  /** Members that must be what the subject says, on which the sender's rights are written: receivers drop and count what speaks for somebody else. */
  readonly speaksFor?: readonly string[];
}
export interface StreamMessage<T> {
  readonly delivery: 'stream';
  readonly stream: StreamName;
  readonly subject: string;
  readonly schema: z.ZodType<T>;
  /** As in CoreMessage. */
  readonly checkedBySender?: boolean;
}
/** `Q` is the request as the server sees it, `I` as a client may write it (defaults left out). */
export interface RequestMessage<Q, A, I = Q> {
  readonly delivery: 'request';
  readonly subject: string;
  readonly request: z.ZodType<Q, I>;
  readonly reply: z.ZodType<A>;
  /** Milliseconds a caller waits before it gives up. */
  readonly timeoutMs: number;
  readonly description: string;
}

export type StreamName = 'WORK' | 'RESULT' | 'REPORT' | 'DLQ';

const core = <T>(subject: string, schema: z.ZodType<T>, options: Pick<CoreMessage<T>, 'checkedBySender' | 'shared' | 'speaksFor'> = {}): CoreMessage<T> => ({ delivery: 'core', subject, schema, ...options });
const stream = <T>(name: StreamName, subject: string, schema: z.ZodType<T>, options: { checkedBySender?: boolean } = {}): StreamMessage<T> => ({
  delivery: 'stream',
  stream: name,
  subject,
  schema,
  ...options,
});
const request = <Q, A, I>(subject: string, q: z.ZodType<Q, I>, a: z.ZodType<A>, timeoutMs: number, description: string): RequestMessage<Q, A, I> => ({
  delivery: 'request',
  subject,
  request: q,
  reply: a,
  timeoutMs,
  description,
});

/** Any stored object as it travels; its kind's own schema has been checked by intake. */
export const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional(), uid: z.string().optional(), resourceVersion: z.string().optional() }),
});
export type WireObject = z.infer<typeof objectSchema>;

/** Stored-resource key: plural, and the group after a dot when there is one: `configmaps`, `netreaches.roundsman.io`. */
const resource = z.string().min(1);

export const writeSchema = z.object({
  /** `bind` and `evict` are for pods: `node`, and eviction by the rules of disruption budgets. */
  operation: z.enum(['create', 'update', 'updateStatus', 'delete', 'bind', 'evict']),
  resource,
  namespace: z.string().optional(),
  /** Absent only for create with `metadata.generateName`. */
  name: z.string().optional(),
  /** The whole object (create, update, updateStatus). `metadata.resourceVersion`, when set, must match. */
  object: z.record(z.string(), z.unknown()).optional(),
  /** delete, evict, bind: refuse unless it matches. */
  preconditions: z.object({ uid: z.string().optional(), resourceVersion: z.string().optional() }).optional(),
  /** delete, evict: seconds the object may take to end, for kinds that end gracefully (pods); default: the object's own. */
  gracePeriodSeconds: z.number().int().nonnegative().optional(),
  /** delete: what becomes of the objects that it owns; default Background. */
  propagationPolicy: z.enum(['Orphan', 'Background', 'Foreground']).optional(),
  /** bind: the node. A pod that has one already is a conflict. */
  node: z.string().optional(),
  /** The API group and version the caller wrote in, when it is a view (`kdoctor.io/v1beta1`); the stored form otherwise. */
  view: z.string().optional(),
  fieldValidation: z.enum(['Strict', 'Warn', 'Ignore']).default('Strict'),
  fieldManager: z.string().optional(),
  dryRun: z.boolean().default(false),
  /** Who asked: for the audit log, and for what only the product itself may do (`serviceUser`). */
  user: z.string().optional(),
});
export type Write = z.input<typeof writeSchema>;

export const changeSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED']),
  version: z.number().int().positive(),
  /** The change before this one, over all resources (version - 1: versions have no gaps). */
  previous: z.number().int().nonnegative(),
  /** The change before this one in the same resource; 0 for the first since intake started. */
  previousOfResource: z.number().int().nonnegative(),
  resource,
  namespace: z.string(),
  name: z.string(),
  uid: z.string(),
  /** After the change; for DELETED as it was, with the version of the deletion. */
  object: objectSchema,
  /** True in an announcement of what may not be read along (secrets): the object is its name, uid and version only; read the row. */
  withheld: z.boolean().optional(),
});
export type Change = z.infer<typeof changeSchema>;

/** What a pipe is opened for, and to which pod: its uid must be the one that is there. */
export const pipeRequestSchema = z.object({
  /** Random; names the subjects of the frames. */
  session: z.string().regex(/^[a-z0-9]{16,40}$/),
  namespace: z.string(),
  pod: z.string(),
  podUid: z.string(),
  purpose: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('exec'), container: z.string(), command: z.array(z.string()).min(1), stdin: z.boolean(), stdout: z.boolean(), stderr: z.boolean(), tty: z.boolean() }),
    z.object({ kind: z.literal('attach'), container: z.string(), stdin: z.boolean(), stdout: z.boolean(), stderr: z.boolean(), tty: z.boolean() }),
    z.object({
      kind: z.literal('logs'),
      container: z.string(),
      follow: z.boolean(),
      previous: z.boolean(),
      timestamps: z.boolean(),
      tailLines: z.number().int().nonnegative().optional(),
      sinceMs: z.number().optional(),
      limitBytes: z.number().int().positive().optional(),
    }),
    z.object({ kind: z.literal('port'), port: z.number().int().min(1).max(65_535) }),
  ]),
});
export type PipeRequest = z.infer<typeof pipeRequestSchema>;

export const messages = {
  change: core(`${prefix}.change.{resource}.{namespace}.{name}`, changeSchema, { checkedBySender: true, shared: true }),
  changeHead: core(`${prefix}.change-head`, z.object({ version: z.number().int(), ofResource: z.record(z.string(), z.number().int()) })),

  work: stream('WORK', `${prefix}.work.{runner}.{kind}.{taskUid}.{round}`, workOrderSchema),
  result: stream('RESULT', `${prefix}.result.{runner}.{kind}.{taskUid}.{round}`, roundResultSchema, { checkedBySender: true }),
  report: stream(
    'REPORT',
    `${prefix}.report.{kind}.{namespace}.{task}`,
    z.object({
      kind: taskKindSchema,
      namespace: z.string(),
      task: z.string(),
      taskUid: z.string(),
      round: z.number().int(),
      roundStart: z.iso.datetime(),
      closedAt: z.iso.datetime(),
      state: z.enum(['succeed', 'fail', 'canceled', 'missed']),
      verdict: z.looseObject({ state: z.string(), summary: z.string() }),
      totals: z.object({ planned: z.number(), sent: z.number(), succeeded: z.number(), failed: z.number(), unsent: z.number() }),
      nodes: z.object({ succeeded: z.array(z.string()), failed: z.array(z.string()), missing: z.array(z.object({ node: z.string(), runner: z.string(), reason: z.string() })) }),
    }),
  ),
  live: core(`${prefix}.live.{kind}.{namespace}.{task}.{node}`, liveSampleSchema, { speaksFor: ['node'] }),

  nodeBeat: core(
    `${prefix}.beat.{node}`,
    z.object({
      node: z.string(),
      /** Changes with every start of the agent. */
      instance: z.string(),
      sentAt: z.iso.datetime(),
      addresses: z.array(z.object({ type: z.enum(['InternalIP', 'Hostname']), address: z.string() })),
      capacity: z.record(z.string(), z.string()),
      allocatable: z.record(z.string(), z.string()),
      nodeInfo: z.record(z.string(), z.string()),
      labels: z.record(z.string(), z.string()),
      /** What the agent tells of the node's network (`nodeNetworkAnnotations`); those of this set that are missing are taken off the Node. */
      annotations: z.record(z.string(), z.string()).default({}),
      conditions: z.array(z.object({ type: z.string(), status: z.enum(['True', 'False', 'Unknown']), reason: z.string(), message: z.string() })),
    }),
    { speaksFor: ['node'] },
  ),
  runnerBeat: core(
    `${prefix}.beat.{node}.{runner}`,
    z.object({
      runner: z.string(),
      node: z.string(),
      runtime: z.string(),
      /** `namespace/name` of the pod it runs in. */
      pod: z.string().optional(),
      instance: z.string(),
      sentAt: z.iso.datetime(),
      version: z.string(),
      /** False while it starts or drains. */
      ready: z.boolean(),
      reason: z.string().optional(),
      /** Addresses on which the echo target listens, one per family. */
      addresses: z.array(z.object({ family: z.enum(['v4', 'v6']), address: z.string() })),
      /** http, https, dns (UDP and TCP), dot, udp -> port. */
      ports: z.record(z.string(), z.number().int()),
      running: z.array(z.object({ taskUid: z.string(), round: z.number().int() })),
      /** Requests per second it may be asked for, all rounds together. */
      capacityQps: z.number(),
    }),
    { speaksFor: ['node', 'runner'] },
  ),
  /** To the agent of a node: a pod bound to it changed. `previousOfNode` is the version of the announcement before it; 0 for the first of this intake. */
  nodePod: core(`${prefix}.node.{node}.pod`, z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), version: z.number().int().positive(), previousOfNode: z.number().int().nonnegative(), object: objectSchema }), {
    checkedBySender: true,
  }),
  /**
   * Something that decides how packets go has changed: an object of `networkResources`, nodes reduced to `networkNodeOf`. `previous` is the version of the
   * announcement before it; 0 for the first of this intake.
   */
  networkChange: core(
    `${prefix}.network`,
    z.object({ type: z.enum(['ADDED', 'MODIFIED', 'DELETED']), version: z.number().int().positive(), previous: z.number().int().nonnegative(), resource, object: objectSchema }),
    { checkedBySender: true, shared: true },
  ),
  /** A Secret that holds a certificate has changed: ingress proxies ask for theirs anew. It says nothing of the Secret. */
  ingressSecretsChange: core(`${prefix}.network.secrets`, z.object({ version: z.number().int().positive() })),
  /** To the agent of a node: a volume whose directory it is to remove (`nodeVolumes`). */
  nodeVolume: core(`${prefix}.node.{node}.volume`, z.object({ name: z.string() })),
  nodeCancel: core(`${prefix}.node.{node}.cancel`, z.object({ taskUid: z.string(), round: z.number().int().optional(), reason: z.string() })),

  dlq: stream(
    'DLQ',
    `${prefix}.dlq.{stream}.{consumer}.{reason}`,
    z.object({ subject: z.string(), reason: z.string(), message: z.string(), deliveries: z.number().int(), data: z.string() }),
  ),

  write: request(`${prefix}.svc.intake.write`, writeSchema, z.object({ object: objectSchema, warnings: z.array(z.string()) }), 10_000, 'Admit and commit one write of an object'),
  get: request(
    `${prefix}.svc.intake.get`,
    z.object({ resource, namespace: z.string().optional(), name: z.string() }),
    objectSchema,
    5_000,
    'One object by name',
  ),
  list: request(
    `${prefix}.svc.intake.list`,
    z.object({ resource, namespace: z.string().optional(), labelSelector: z.string().optional(), limit: z.number().int().positive().max(1000).default(500), after: z.string().optional() }),
    z.object({ version: z.number().int(), items: z.array(objectSchema), next: z.string().optional() }),
    10_000,
    'Objects of one resource, and the version to watch from',
  ),
  changes: request(
    `${prefix}.svc.intake.changes`,
    z.object({ since: z.number().int().nonnegative(), resource: resource.optional(), limit: z.number().int().positive().max(1000).default(500) }),
    z.object({ head: z.number().int(), changes: z.array(changeSchema), more: z.boolean() }),
    10_000,
    'Changes after a version, in order; 410 when they were trimmed',
  ),
  nodePods: request(
    `${prefix}.svc.intake.node-pods.{node}`,
    z.object({
      /** Version of the last announcement that was seen: when nothing was announced since, no pods come back. */
      seen: z.number().int().nonnegative().optional(),
      /** `next` of the page before. */
      after: z.string().optional(),
    }),
    z.object({
      /** Of the last announcement to this node. What is announced after the version of the first page may be missing in the later ones. */
      version: z.number().int(),
      pods: z.array(objectSchema).optional(),
      /** There are more than one message carries: ask again after this. */
      next: z.string().optional(),
    }),
    10_000,
    'The pods bound to a node; for its agent',
  ),
  nodeWrite: request(
    `${prefix}.svc.intake.node-write.{node}`,
    z.discriminatedUnion('operation', [
      /** Status of a pod bound to this node; the uid must be its. */
      z.object({ operation: z.literal('podStatus'), namespace: z.string(), name: z.string(), uid: z.string(), status: z.record(z.string(), z.unknown()) }),
      /** All of it has ended: the object of a pod that is to be deleted goes. */
      z.object({ operation: z.literal('podGone'), namespace: z.string(), name: z.string(), uid: z.string() }),
      /** A core/v1 Event about this node or a pod on it; one of the same name is replaced (counts). */
      z.object({ operation: z.literal('event'), event: z.record(z.string(), z.unknown()) }),
      /** The directory of a volume that this node was to remove (`nodeVolumes`) is gone: so may the volume. */
      z.object({ operation: z.literal('volumeRemoved'), name: z.string(), uid: z.string() }),
      /** It cannot be removed now, and why; the agent goes on trying. */
      z.object({ operation: z.literal('volumeKept'), name: z.string(), uid: z.string(), message: z.string().max(1024) }),
    ]),
    z.object({ object: objectSchema.optional() }),
    10_000,
    'What the agent of a node may write: status and end of its pods, events, and that the directory of a volume is removed, or why not',
  ),
  nodeMaterials: request(
    `${prefix}.svc.intake.node-materials.{node}`,
    z.object({ namespace: z.string(), name: z.string(), uid: z.string(), /** `next` of the page before. */ after: z.string().optional() }),
    z.object({
      /** ConfigMaps and Secrets that the pod refers to and that exist. */
      configMaps: z.array(objectSchema),
      secrets: z.array(objectSchema),
      /** The claims of its volumes, and the volumes that these are bound to. */
      persistentVolumeClaims: z.array(objectSchema).default([]),
      persistentVolumes: z.array(objectSchema).default([]),
      /** As in nodePods. */
      next: z.string().optional(),
    }),
    10_000,
    'The ConfigMaps, Secrets, claims and volumes that a pod on a node refers to',
  ),
  nodeVolumes: request(
    `${prefix}.svc.intake.node-volumes.{node}`,
    z.object({ /** `next` of the page before. */ after: z.string().optional() }),
    z.object({ volumes: z.array(objectSchema), next: z.string().optional() }),
    10_000,
    'The volumes that go and whose directories this node is to remove',
  ),
  networkState: request(
    `${prefix}.svc.intake.network`,
    z.object({
      /** As in nodePods. */
      seen: z.number().int().nonnegative().optional(),
      after: z.string().optional(),
    }),
    z.object({
      /** Of the last announcement; as in nodePods. */
      version: z.number().int(),
      network: clusterNetworkSchema,
      objects: z.array(z.object({ resource, object: objectSchema })).optional(),
      next: z.string().optional(),
    }),
    10_000,
    'How packets go: the ranges of the cluster, its nodes, Services, EndpointSlices, Ingresses and DNS names',
  ),
  ingressSecrets: request(
    `${prefix}.svc.intake.ingress-secrets`,
    z.object({ after: z.string().optional() }),
    z.object({ secrets: z.array(objectSchema), next: z.string().optional() }),
    10_000,
    'The TLS Secrets that Ingresses refer to, and no others',
  ),
  nodeStats: request(
    `${prefix}.node.{node}.stats`,
    z.object({}),
    z.object({
      at: z.iso.datetime(),
      /** Seconds over which the rates were taken. */
      windowSeconds: z.number().positive(),
      node: z.object({ cpuNanoCores: z.number().nonnegative(), memoryBytes: z.number().nonnegative() }),
      pods: z.array(
        z.object({
          namespace: z.string(),
          name: z.string(),
          uid: z.string(),
          containers: z.array(z.object({ name: z.string(), cpuNanoCores: z.number().nonnegative(), memoryBytes: z.number().nonnegative() })),
        }),
      ),
    }),
    5_000,
    'Processor and memory in use: the node, and the containers of its pods',
  ),
  /** Opens a pipe (pipe.ts): exec, attach, logs, a forwarded port. The frames go over `pipe-up` and `pipe-down`. */
  pipeOpen: request(`${prefix}.node.{node}.pipe`, pipeRequestSchema, z.object({}), 10_000, 'Opens a stream to something that runs in a pod'),
  materials: request(
    `${prefix}.svc.scheduler.materials.{runner}`,
    z.object({ taskUid: z.string(), round: z.number().int() }),
    materialsSchema,
    5_000,
    'TLS files and body for a round that is assigned to this runner',
  ),
  committed: request(
    `${prefix}.svc.reporter.committed.{runner}`,
    z.object({
      rounds: z
        .array(
          z.object({
            taskUid: z.string(),
            round: z.number().int(),
            /** When the runner had its result: one older than what is kept is not waited for. */
            endedAt: z.iso.datetime().optional(),
          }),
        )
        .max(500),
    }),
    z.object({ committed: z.array(z.object({ taskUid: z.string(), round: z.number().int() })) }),
    5_000,
    'Which of these rounds of this runner are safely in Postgres',
  ),
} as const;
export type Messages = typeof messages;

/** What `networkState` and `networkChange` carry. */
export const networkResources = ['nodes', 'services', 'endpointslices.discovery.k8s.io', 'ingresses.networking.k8s.io', 'ingressclasses.networking.k8s.io', 'dnses.roundsman.io'] as const;
export type NetworkResource = (typeof networkResources)[number];

/** Streams and their limits. Retries and dead letters are the consumers' business (consumers.ts). */
export const streams: Record<StreamName, { subjects: string[]; retention: 'workqueue' | 'limits'; maxAgeMs: number; maxBytes: number; maxMsgSize: number; duplicateWindowMs: number; maxMsgsPerSubject?: number }> = {
  WORK: { subjects: [`${prefix}.work.>`], retention: 'workqueue', maxAgeMs: 0, maxBytes: 256 << 20, maxMsgSize: 4 << 20, duplicateWindowMs: 120_000, maxMsgsPerSubject: 1 },
  RESULT: { subjects: [`${prefix}.result.>`], retention: 'workqueue', maxAgeMs: 0, maxBytes: 1 << 30, maxMsgSize: 1 << 20, duplicateWindowMs: 600_000 },
  REPORT: { subjects: [`${prefix}.report.>`], retention: 'limits', maxAgeMs: 72 * 3_600_000, maxBytes: 256 << 20, maxMsgSize: 1 << 20, duplicateWindowMs: 600_000 },
  DLQ: { subjects: [`${prefix}.dlq.>`], retention: 'limits', maxAgeMs: 30 * 86_400_000, maxBytes: 256 << 20, maxMsgSize: 1 << 20, duplicateWindowMs: 600_000 },
};
