import { capabilitiesOf, countsFromMs, isEndingRuntime, type Capabilities, type Condition, type RoundSpec, type Runner, type Runtime, type RuntimePaths, type RuntimeRunner } from '@roundsman/api';
import type { Caches, Task } from './caches.ts';
import type { Reasons } from './targets/facts.ts';

/** A runner that a round expects to report. */
export interface Expected extends Pick<RoundSpec['runners'][number], 'runner' | 'node' | 'notReady' | 'pod' | 'interfaces'> {
  /** Its pod is ready and it was not heard yet: it may be any moment. */
  readonly coming: boolean;
  readonly addresses: readonly string[];
  readonly ports: Readonly<Record<string, number>>;
}

/** Who carries the rounds of a task: its own runtime, or the default one. */
export interface Carrier {
  readonly runtime: string;
  /** From when the schedule counts, milliseconds: rounds do not begin before. */
  readonly fromMs: number;
  readonly runners: readonly Expected[];
  /** Nobody of it was ever ready, which was waited for when it was made. */
  readonly waitedFor: boolean;
  readonly paths: RuntimePaths | undefined;
  readonly capabilities: Capabilities;
  readonly reasons: Reasons;
}

type Cached = Pick<Caches, 'runner' | 'runnersOf' | 'defaultRuntime' | 'runtimesOf'>;

/** Undefined while the runtime is not there or has not settled: there is nothing to do before it changes. */
export function carrierOf(task: Task, caches: Cached, defaultName: string): Carrier | undefined {
  const standard = caches.defaultRuntime(defaultName);
  const capabilities = capabilitiesOf(standard);
  const own = caches.runtimesOf(task.metadata.uid).filter((one) => !isEndingRuntime(one)).sort(newestFirst)[0];
  // Where no workloads are, such a task was taken through the kdoctor view alone: its rounds say that it has none.
  const wantsOwn = (task.spec as { agentSpec?: unknown }).agentSpec !== undefined && (own !== undefined || capabilities.workloads);
  const runtime = wantsOwn ? own : standard;
  const fromMs = countsFromMs(task, { own: wantsOwn, runtime });
  if (fromMs === undefined) return undefined;
  if (runtime === undefined || runtime.spec.kind === 'Process') {
    return { runtime: defaultName, fromMs, runners: processes(caches.runnersOf(defaultName)).sort(byName), waitedFor: false, paths: undefined, capabilities, reasons: {} };
  }
  const { metadata, status } = runtime;
  const runners = expectedOf(status?.runners ?? [], processes(caches.runnersOf(metadata.name)), (name) => caches.runner(name));
  return {
    runtime: metadata.name,
    fromMs,
    runners,
    waitedFor: neverReady(runtime) && runners.every(({ runner }) => caches.runner(runner) === undefined),
    paths: status?.paths,
    capabilities,
    reasons: { workload: problemOf(runtime, 'WorkloadReady'), services: problemOf(runtime, 'ServicesReady'), ingress: problemOf(runtime, 'IngressReady') },
  };
}

/** One per pod that the runtime lists, and the processes of it. Where both are on a node, one that is not ready is left out when the other is. */
export function expectedOf(listed: readonly RuntimeRunner[], others: readonly Expected[], runnerOf: (name: string) => Runner | undefined): Expected[] {
  const pods = listed.map((one) => ofPod(one, runnerOf(one.runner)));
  return [...standingIn(pods, others), ...standingIn(others, pods)].sort(byName);
}

function standingIn(some: readonly Expected[], others: readonly Expected[]): Expected[] {
  const covered = new Set(others.filter(({ notReady }) => notReady === undefined).map(({ node }) => node));
  return some.filter(({ notReady, node }) => notReady === undefined || !covered.has(node));
}

function ofPod({ runner, node, pod, ready, reason, interfaces }: RuntimeRunner, object: Runner | undefined): Expected {
  const heard = object?.status;
  const unheard = 'its pod is ready, but the runner has not been heard yet: it may not reach NATS';
  const notReady = !ready ? (reason ?? 'its pod is not ready') : heard === undefined ? unheard : notReadyOf({ status: heard });
  return {
    ...heardFrom(runner, node, object),
    coming: ready && heard === undefined,
    ...(notReady === undefined ? {} : { notReady }),
    ...(pod === undefined ? {} : { pod }),
    ...(interfaces === undefined || interfaces.length === 0 ? {} : { interfaces }),
  };
}

/** Those that agents keep as processes. */
function processes(runners: readonly Runner[]): Expected[] {
  return runners
    .filter(({ status }) => status?.pod === undefined)
    .map((runner) => {
      const notReady = notReadyOf(runner);
      return { ...heardFrom(runner.metadata.name, '', runner), coming: false, ...(notReady === undefined ? {} : { notReady }) };
    });
}

function heardFrom(runner: string, node: string, object: Runner | undefined): Pick<Expected, 'runner' | 'node' | 'addresses' | 'ports'> {
  const { status } = object ?? {};
  return { runner, node: status?.node ?? node, addresses: (status?.addresses ?? []).map(({ address }) => address), ports: status?.ports ?? {} };
}

function notReadyOf({ status }: Pick<Runner, 'status'>): string | undefined {
  if (status === undefined) return 'it has not reported yet';
  return status.ready ? undefined : (status.reason ?? 'not ready');
}

const conditionOf = ({ status }: Runtime, type: string): Condition | undefined => status?.conditions.find((one) => one.type === type);

function problemOf(runtime: Runtime, type: string): string | undefined {
  const condition = conditionOf(runtime, type);
  return condition === undefined || condition.status === 'True' ? undefined : condition.message;
}

/** Its workload was not whole when it settled, nor ever since. */
function neverReady(runtime: Runtime): boolean {
  const condition = conditionOf(runtime, 'WorkloadReady');
  return condition?.status === 'False' && Date.parse(condition.lastTransitionTime) <= Date.parse(runtime.status?.settledAt ?? '');
}

const newestFirst = (a: Runtime, b: Runtime): number => Date.parse(b.metadata.creationTimestamp) - Date.parse(a.metadata.creationTimestamp);
const byName = (a: Expected, b: Expected): number => (a.runner < b.runner ? -1 : a.runner > b.runner ? 1 : 0);
