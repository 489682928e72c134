import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { defaultRuntime, requiredNodes, runtimeFinalizer, type AnyTask, type DaemonSet, type Deployment, type PodSpec, type Runner, type Runtime, type RuntimeStatus } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Cluster } from '@roundsman/cluster';
import type { Outcome } from '@roundsman/reconcile';
import { byKey, keysOf, onChange, type Deps, type LoopDefinition, type Wake } from '../../loop.ts';
import { NotLeading } from '../../objects.ts';
import { withLists } from '../../owner.ts';
import { runtimeHappening } from '../status/happenings.ts';
import type { Observation } from '../status/observation.ts';
import { runtimeStatusOf, settlesAtMs } from '../status/runtime-status.ts';
import { hasWorkload, keepObjects, namesOf, removeObjects, type WorkloadRuntime } from './made-objects.ts';
import { Namespaces } from './namespaces.ts';
import { ObjectKeeper } from './object-keeper.ts';
import { Owners } from './owners.ts';
import { RuntimeView } from './runtime-view.ts';
import { Tokens } from './tokens.ts';
import { WhyNoPods } from './why-no-pods.ts';

/** A status is written at most so often while it is only being filled: pods come one by one. Large ones are costly. */
const restMs = (runners: number): number => 100 + runners;
/** What the API refused is tried again, and pods that are not made are looked after, after so long: whoever has to change something does not do it at once. */
const againMs = 10_000;
const listingAgainMs = 500;
/** What is not listed yet wakes everything when it is: until then only what is told of it may change. */
const unlistedAgainMs = 10_000;

/** What works on the Kubernetes API, of one term. */
interface Tools {
  readonly cluster: Cluster;
  readonly view: RuntimeView;
  readonly keeper: ObjectKeeper;
  readonly tokens: Tokens;
  readonly owners: Owners;
  readonly whyNoPods: WhyNoPods;
  readonly namespaces: Namespaces;
}

/**
 * Keeps what belongs to each Runtime in the Kubernetes API, tells in its status how that fares, and removes it when the Runtime is deleted, or is not there
 * any more. A key is `namespace/name` of a Runtime.
 */
export function runtimes(deps: Deps): LoopDefinition {
  const { caches, objects, recorder, settings, log, cluster } = deps;
  const tell = recorder.from('runtime-controller');
  let tools: Tools | undefined;
  const writtenAtMs = new Map<string, number>();
  /** Of what was not looked for yet nothing can be said to be missing. */
  const unsettled = { ...settings, runtimeWaitMs: Number.POSITIVE_INFINITY };

  const installationOf = (): string | undefined => caches.namespaces.get(undefined, 'kube-system')?.metadata.uid;
  const taskOf = ({ spec }: Runtime): AnyTask | undefined => (spec.task === undefined ? undefined : caches.taskByUid(spec.task.uid));

  const follow: Wake = (wake) => {
    if (cluster === undefined) return () => undefined;
    const view = new RuntimeView(cluster);
    const keeper = new ObjectKeeper(cluster, view, log);
    tools = { cluster, view, keeper, tokens: new Tokens(cluster, view, caches.runtimes, objects), owners: new Owners(cluster), whyNoPods: new WhyNoPods(cluster), namespaces: new Namespaces(cluster) };
    const { tokens } = tools;
    const end = view.onChange((key, gone) => {
      if (gone !== undefined) {
        keeper.gone(gone);
        const runtime = key === undefined ? undefined : byKey(caches.runtimes, key);
        if (gone.kind === 'Secret' && runtime !== undefined) tokens.forget(runtime.metadata.uid);
      }
      for (const one of key === undefined ? keysOf(caches.runtimes)() : [key]) wake(one);
    });
    // Ended before that, there is nothing to wake.
    view.whenSynced().then(() => allKeys().forEach(wake), () => undefined);
    return () => {
      end();
      view.stop();
    };
  };

  /** Those that there are, and those of which something is left. */
  const allKeys = (): Set<string> => new Set([...keysOf(caches.runtimes)(), ...(tools?.view.keys(installationOf() ?? '') ?? [])]);

  /** The runtime that a runner is of. */
  const keyOfRunner = ({ status }: Runner): string => (status?.pod === undefined ? `${defaultRuntime.namespace}/${status?.runtime ?? ''}` : `${status.pod.split('/')[0]}/${status.runtime}`);

  function observationOf(runtime: Runtime, key: string, seen: Partial<Observation>): Observation {
    const runners = caches.runners.list().filter((runner) => keyOfRunner(runner) === key);
    return {
      runtime, workload: undefined, pods: [], services: [], slices: [], ingress: undefined, ingressClasses: [], nodes: [], runners,
      fits: () => true, noPods: undefined, problems: new Map(), stale: undefined, settings, nowMs: Date.now(), ...seen,
    };
  }

  async function seen(runtime: WorkloadRuntime, key: string, { view, whyNoPods, cluster: { server } }: Tools, problems: Observation['problems']): Promise<Observation & { readonly short: boolean }> {
    const { namespace = '' } = runtime.metadata;
    const name = runtime.spec.workload;
    const workload = view.get(runtime.spec.kind, namespace, name) as DaemonSet | Deployment | undefined;
    const pods = view.podsOf(key);
    const problem = view.problem();
    const observation = observationOf(runtime, key, {
      workload,
      pods,
      services: view.servicesOf(key),
      slices: view.slicesOf(key),
      ingress: view.ingresses.get(namespace, name),
      ingressClasses: view.ingressClasses.list(),
      nodes: view.nodes.list(),
      fits: requiredNodes((workload?.spec.template.spec ?? {}) as Pick<PodSpec, 'nodeSelector' | 'affinity'>) ?? (() => true),
      problems,
      stale: problem === undefined ? undefined : `the Kubernetes API at ${server} does not answer: ${problem}`,
    });
    const short = workload !== undefined && runtimeStatusOf(observation).runners.some(({ pod }) => pod === undefined);
    return { ...observation, short, noPods: short && problem === undefined ? await whyNoPods.of(key, workload) : undefined };
  }

  async function write(key: string, observation: Observation): Promise<Outcome | void> {
    const { runtime, nowMs } = observation;
    const status = runtimeStatusOf(observation);
    const settlesMs = settlesAtMs(observation, status) - nowMs;
    const later = status.settledAt === undefined && settlesMs > 0 ? { againAfterMs: settlesMs } : undefined;
    if (isDeepStrictEqual(runtime.status, status)) return later;
    const waitMs = (writtenAtMs.get(key) ?? 0) + restMs(status.runners.length) - nowMs;
    if (waitMs > 0 && !isTurn(runtime.status, status)) return { againAfterMs: waitMs };
    await objects.updateStatus(caches.runtimes, runtime, status);
    writtenAtMs.set(key, nowMs);
    const task = taskOf(runtime);
    const happening = runtimeHappening(runtime, status);
    if (happening !== undefined) {
      tell(runtime, ...happening);
      if (task !== undefined) tell(task, ...happening);
    }
    return later;
  }

  async function keep(runtime: WorkloadRuntime, key: string, all: Tools): Promise<Outcome | void> {
    const installation = installationOf();
    const task = taskOf(runtime);
    // A task that ends, or is gone, gets nothing new; what is there stays until its rounds are told.
    const isMade = runtime.spec.task === undefined || (task !== undefined && task.metadata.deletionTimestamp === undefined);
    if (!isMade) return write(key, await seen(runtime, key, all, new Map()));
    if (installation === undefined) return { againAfterMs: listingAgainMs };
    let current = runtime;
    let problems: Observation['problems'] = new Map();
    let failure: unknown;
    try {
      await all.namespaces.keep(runtime);
      const given = await all.tokens.of(runtime);
      current = given.runtime as WorkloadRuntime;
      problems = await keepObjects({ runtime: current, task, token: given.token, natsCa: await natsCaOf(settings.runnerNatsCaFile), installation, settings }, all.keeper, all.owners);
      await clear(key, all, namesOf(current as WorkloadRuntime));
    } catch (error) {
      // Of the own store: read anew, and tried again.
      if (error instanceof ServiceError || error instanceof NotLeading) throw error;
      failure = error;
      // One that is there goes on as it was.
      if (all.view.get(runtime.spec.kind, runtime.metadata.namespace ?? '', runtime.spec.workload) === undefined) problems = new Map([['workload', error instanceof Error ? error.message : String(error)]]);
    }
    if (problems.size > 0) all.namespaces.doubt();
    const observation = await seen(current, key, all, problems);
    const outcome = await write(key, observation);
    if (failure !== undefined) throw failure;
    // Neither a refusal nor why there are no pods comes by itself.
    return problems.size === 0 && !observation.short ? outcome : { againAfterMs: Math.min(againMs, outcome?.againAfterMs ?? againMs) };
  }

  /** What this installation made for a Runtime and that is none of `names` (`kind/name`): it is not there, is a process now, or needs it no more. */
  async function clear(key: string, { cluster: api, view }: Tools, names: ReadonlySet<string> = new Set()): Promise<void> {
    const installation = installationOf();
    if (installation === undefined) return;
    for (const { resource, object } of view.madeFor(key, installation)) {
      if (names.has(`${resource.kind}/${object.metadata.name}`)) continue;
      log.info({ runtime: key, kind: resource.kind, name: object.metadata.name }, 'removing what no runtime needs');
      await api.delete(resource, object.metadata.namespace, object.metadata.name, { uid: object.metadata.uid, propagationPolicy: 'Background' });
    }
  }

  async function remove(runtime: Runtime, key: string): Promise<Outcome | void> {
    if (hasWorkload(runtime)) {
      if (tools === undefined) {
        await objects.updateStatus(caches.runtimes, runtime, endingStatus(runtime, 'the controllers have no Kubernetes API (ROUNDSMAN_CONTROLLERS_KUBECONFIG) to remove it from'));
        return;
      }
      const installation = installationOf();
      if (installation === undefined) return { againAfterMs: listingAgainMs };
      try {
        await removeObjects(tools.cluster, runtime, installation);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const status = endingStatus(runtime, why);
        const task = isDeepStrictEqual(runtime.status, status) ? undefined : taskOf(runtime);
        await objects.updateStatus(caches.runtimes, runtime, status);
        // Once: it is tried every few seconds.
        if (task !== undefined) tell(task, 'Warning', 'RuntimeNotRemoved', `Its ${runtime.spec.kind} ${runtime.spec.workload} cannot be removed: ${why}`);
        throw error;
      }
      tools.tokens.forget(runtime.metadata.uid);
      tools.whyNoPods.forget(key);
    }
    const { finalizers = [] } = runtime.metadata;
    await objects.update(caches.runtimes, { ...runtime, metadata: withLists(runtime.metadata, { finalizers: finalizers.filter((one) => one !== runtimeFinalizer) }) });
    const task = taskOf(runtime);
    if (task !== undefined) tell(task, 'Normal', 'RuntimeRemoved', `${runtime.spec.kind} ${runtime.spec.workload ?? ''} and what belongs to it are removed`);
    writtenAtMs.delete(key);
  }

  return {
    name: 'runtimes',
    concurrency: 8,
    keys: allKeys,
    wakes: [
      follow,
      onChange(caches.runtimes, ({ object: { metadata } }) => [`${metadata.namespace ?? ''}/${metadata.name}`]),
      onChange(caches.runners, ({ object, before }) => new Set([object, ...(before === undefined ? [] : [before])].map(keyOfRunner))),
      // A task that ends is not mended any more.
      ...Object.values(caches.tasks).map((tasks) => onChange(tasks, ({ object }) => caches.runtimes.by('task', object.metadata.uid).map(({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`))),
    ],
    async reconcile(key) {
      const runtime = byKey(caches.runtimes, key);
      if (tools !== undefined && !tools.view.synced && runtime?.metadata.deletionTimestamp === undefined) {
        if (runtime === undefined) return undefined;
        if (hasWorkload(runtime)) {
          // What was told before holds until something else is known.
          if (runtime.status === undefined) await write(key, observationOf(runtime, key, { problems: new Map([['workload', tools.view.problem() ?? 'the Kubernetes API is being listed']]), settings: unsettled }));
          return { againAfterMs: unlistedAgainMs };
        }
      }
      if (runtime?.metadata.deletionTimestamp !== undefined) return remove(runtime, key);
      if (runtime === undefined) {
        const [namespace, name = ''] = key.split('/');
        // A cache may be behind: what it does not have is asked for.
        if (tools !== undefined && (await caches.stored(caches.runtimes.resource, namespace, name)) === undefined) await clear(key, tools);
        return undefined;
      }
      if (!hasWorkload(runtime)) {
        if (tools?.view.synced === true) await clear(key, tools);
        return write(key, observationOf(runtime, key, {}));
      }
      if (tools === undefined) return write(key, observationOf(runtime, key, { problems: new Map([['workload', noApi]]) }));
      return keep(runtime, key, tools);
    },
  };
}

const noApi = 'the controllers have no Kubernetes API; set ROUNDSMAN_CONTROLLERS_KUBECONFIG';

/** Read each time: certificates are renewed. */
const natsCaOf = async (file: string): Promise<string | undefined> => (file === '' ? undefined : readFile(file, 'utf8'));

/** Rounds, and those who wait for one, act on this: it is written at once. */
const isTurn = (before: RuntimeStatus | undefined, after: RuntimeStatus): boolean => before === undefined || before.phase !== after.phase || before.settledAt !== after.settledAt || (before.ready < before.desired && after.ready >= after.desired);

function endingStatus({ status }: Runtime, why: string): RuntimeStatus {
  const empty: RuntimeStatus = { phase: 'Ending', desired: 0, ready: 0, runners: [], paths: { services: [] }, conditions: [] };
  const old = status?.conditions.find(({ type }) => type === 'Ready');
  const lastTransitionTime = old?.status === 'False' ? old.lastTransitionTime : new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  return { ...empty, ...status, phase: 'Ending', conditions: [...(status?.conditions ?? []).filter(({ type }) => type !== 'Ready'), { type: 'Ready', status: 'False', reason: 'NotRemoved', message: `What belongs to it cannot be removed: ${why}`, lastTransitionTime }] };
}
