import type { Params } from './bus.ts';
import { messages } from './catalogue.ts';
import type { CoreMessage, RequestMessage, StreamMessage } from './catalogue.ts';
import type { Identity, Role } from './identities.ts';
import { runnerDurable } from './streams.ts';

type AnyCore = CoreMessage<never>;
type AnyStream = StreamMessage<never>;
type AnyRequest = RequestMessage<never, never, never>;
type Mine<M> = readonly (M | readonly [M, Params])[];

/** What one role does with the messages of the catalogue; a pair fixes params to its own. Whatever is not here is refused. */
export interface Duties {
  readonly publishes?: Mine<AnyCore>;
  /** A stream message may be subscribed to as well: as it passes, with no replay. */
  readonly subscribes?: Mine<AnyCore | AnyStream>;
  readonly appends?: Mine<AnyStream>;
  readonly requests?: Mine<AnyRequest>;
  /** Endpoints of one micro service, whose name is the role. */
  readonly serves?: Mine<AnyRequest>;
  /** Durables; `create` when it makes them itself. */
  readonly consumes?: readonly { readonly message: AnyStream; readonly durable: string; readonly create: boolean }[];
  readonly replays?: readonly AnyStream[];
  /** ensureStreams and sweepDeadLetters. */
  readonly managesStreams?: boolean;
  /** Durables of others on WORK, and purging it. */
  readonly managesWork?: boolean;
  /** Ends of pipes (pipe.ts): a node's agent answers those of its own node, the gateway opens those of any. */
  readonly pipes?: { readonly opens: true } | { readonly answersOf: string };
  /** Says whom the server lets in that has no nkey (answerLogins). */
  readonly answersLogins?: boolean;
  /** A person: reads along (all but requests) and reads every stream. */
  readonly operates?: boolean;
}

const { change, changeHead, work, result, report, live, nodeBeat, runnerBeat, nodeCancel, write, get, list, changes, materials, committed, nodePod, nodePods, nodeWrite, nodeMaterials, nodeVolume, nodeVolumes, nodeStats, pipeOpen, networkState, networkChange, ingressSecrets, ingressSecretsChange } = messages as unknown as Record<
  'change' | 'changeHead' | 'live' | 'nodeBeat' | 'runnerBeat' | 'nodeCancel' | 'nodePod' | 'nodeVolume' | 'networkChange' | 'ingressSecretsChange',
  AnyCore
> &
  Record<'work' | 'result' | 'report', AnyStream> &
  Record<'write' | 'get' | 'list' | 'changes' | 'materials' | 'committed' | 'nodePods' | 'nodeWrite' | 'nodeMaterials' | 'nodeVolumes' | 'nodeStats' | 'pipeOpen' | 'networkState' | 'ingressSecrets', AnyRequest>;

const watches = [change, changeHead] as const;
/** For those that have no database. */
const reads = [get, list, changes] as const;

/** Who sends and who handles what: the one table from which all permissions follow. */
const table: Record<Role, (own: { node: string; runner: string; task: Identity['task'] }) => Duties> = {
  intake: () => ({ publishes: [...watches, nodePod, nodeVolume, networkChange, ingressSecretsChange], serves: [write, ...reads, nodePods, nodeWrite, nodeMaterials, nodeVolumes, networkState, ingressSecrets] }),
  gateway: () => ({ requests: [write, nodeStats, pipeOpen], pipes: { opens: true }, subscribes: [...watches, live, report], replays: [report] }),
  scheduler: () => ({
    requests: [write],
    subscribes: [...watches, runnerBeat],
    publishes: [nodeCancel],
    appends: [work],
    serves: [materials],
    managesStreams: true,
    managesWork: true,
  }),
  controllers: () => ({ requests: [write, nodeStats], subscribes: [...watches, nodeBeat, runnerBeat], answersLogins: true }),
  reporter: () => ({
    requests: [write],
    subscribes: [...watches, runnerBeat],
    consumes: [{ message: result, durable: 'reporter', create: true }],
    appends: [report],
    serves: [committed],
    managesStreams: true,
  }),
  agent: ({ node }) => ({
    publishes: [[nodeBeat, { node }]],
    subscribes: [[nodePod, { node }], [nodeVolume, { node }], networkChange],
    requests: [networkState, [nodePods, { node }], [nodeWrite, { node }], [nodeMaterials, { node }], [nodeVolumes, { node }]],
    serves: [[nodeStats, { node }], [pipeOpen, { node }]],
    pipes: { answersOf: node },
  }),
  runner: ({ node, runner, task }) => ({
    publishes: [
      [runnerBeat, { node, runner }],
      [live, { node }],
    ],
    subscribes: [[nodeCancel, { node }]],
    appends: [[result, { runner, ...(task === undefined ? {} : { kind: task.kind, taskUid: task.uid }) }]],
    requests: [
      [materials, { runner }],
      [committed, { runner }],
    ],
    consumes: [{ message: work, durable: runnerDurable(runner), create: false }],
  }),
  // One per machine that lets HTTP in: it forwards, and answers nobody on the bus.
  ingress: () => ({ subscribes: [networkChange, ingressSecretsChange], requests: [networkState, ingressSecrets] }),
  operator: () => ({ operates: true, requests: [...reads, committed] }),
};

export function dutiesOf(identity: Identity): Duties {
  const { role, node, runner, name, task } = identity;
  if ((role === 'agent' || role === 'runner') && node === undefined) throw new Error(`identity ${name} needs its node`);
  if (role === 'runner' && runner === undefined) throw new Error(`identity ${name} needs its runner`);
  return table[role]({ node: node ?? '', runner: runner ?? '', task });
}
