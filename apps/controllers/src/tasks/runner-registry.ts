import { isDeepStrictEqual } from 'node:util';
import { defaultRuntime, isNameOfPodRunner, runnerOfPod, type Runner, type RunnerStatus, type Runtime } from '@roundsman/api';
import { messages, type Messages } from '@roundsman/bus';
import type { Happening, Outcome } from '@roundsman/reconcile';
import type { z } from 'zod';
import { terminating } from '../runtimes/status/pod-reason.ts';
import { onChange, type Deps, type LoopDefinition, type Wake } from '../loop.ts';
import { Silence } from '../silence.ts';
import { wholeSeconds } from '../timestamps.ts';

/** Names remembered, so that each is told once. */
const mostDoubted = 1_000;

export type RunnerBeat = z.infer<Messages['runnerBeat']['schema']>;

/** What a Runner's status is to be. `beat`: its last heartbeat, undefined when it is silent. */
export function runnerStatusOf(stored: RunnerStatus | undefined, beat: RunnerBeat | undefined, lostMs: number, nowMs: number): RunnerStatus | undefined {
  const draft = beat === undefined ? stored && { ...stored, ready: false, reason: stored.ready ? `no heartbeat since ${wholeSeconds(nowMs - lostMs)}` : (stored.reason ?? 'no heartbeat') } : ofBeat(beat);
  if (draft === undefined) return undefined;
  return { ...draft, lastTransitionTime: stored !== undefined && stored.ready === draft.ready ? stored.lastTransitionTime : wholeSeconds(nowMs) };
}

function ofBeat({ node, runtime, pod, instance, version, ready, reason, addresses, ports, capacityQps }: RunnerBeat): Omit<RunnerStatus, 'lastTransitionTime'> {
  return { node, runtime, ...(pod === undefined ? {} : { pod }), instance, version, ready, ...(ready ? {} : { reason: reason ?? 'not ready' }), addresses, ports, capacityQps };
}

/** What the step from one status to the next tells people. */
export function runnerHappening(before: RunnerStatus | undefined, after: RunnerStatus): Happening | undefined {
  if (before === undefined) return ['Normal', 'RunnerJoined', `Runner on ${after.node} joined runtime ${after.runtime}`];
  if (before.instance !== after.instance) return ['Normal', 'RunnerRestarted', `Runner on ${after.node} started anew`];
  if (before.ready === after.ready) return undefined;
  if (after.ready) return ['Normal', 'RunnerReady', `Runner on ${after.node} is ready`];
  return ['Warning', 'RunnerLost', `Runner on ${after.node} is not ready: ${after.reason ?? 'no reason given'}`];
}

/** Keeps a Runner object for every probe-runner from its heartbeats; writes only what changed. A key is a runner's name. */
export function runnerRegistry({ bus, caches, objects, recorder, log, settings: { runnerLostMs: lostMs, runnerRemoveMs: removeMs } }: Deps): LoopDefinition {
  const tell = recorder.from('roundsman-controllers');
  const beats = new Map<string, RunnerBeat>();
  const silence = new Silence(() => bus.health().connected);
  /** Whose claims were told to be false. */
  const doubted = new Set<string>();

  const heartbeats: Wake = async (wake) => {
    silence.start();
    const subscription = await bus.subscribe(messages.runnerBeat, {}, ({ payload }) => {
      const { runner } = payload;
      beats.set(runner, payload);
      silence.heard(runner);
      const status = caches.runners.get(undefined, runner)?.status;
      if (status === undefined || !isDeepStrictEqual(ofBeat(payload), withoutTransition(status))) wake(runner);
    });
    return () => {
      silence.stop();
      return subscription.stop();
    };
  };

  /** Whether this runtime has the runner by its pods. The cache may be behind: what it does not have is asked for. */
  async function isListed(name: string, namespace: string, runtime: string): Promise<boolean> {
    const lists = (one: Runtime | undefined): boolean => one?.status?.runners.some(({ runner }) => runner === name) === true;
    return lists(caches.runtimes.get(namespace, runtime)) || lists((await caches.stored(caches.runtimes.resource, namespace, runtime)) as Runtime | undefined);
  }

  /**
   * A runner says itself whose it is. One in a pod was let in by the token of its runtime, which others can read too: it is believed only what the
   * Runtime says as well, so that it cannot pass for a runner of another runtime, or for a process of the default one, and get their work and secrets.
   */
  async function isBelieved({ runner, runtime, pod }: RunnerBeat, known: RunnerStatus | undefined): Promise<boolean> {
    if (known !== undefined && known.runtime === runtime && known.pod === pod) return true;
    if (pod === undefined) return !isNameOfPodRunner(runner);
    const [namespace = '', name = ''] = pod.split('/');
    return runnerOfPod(namespace, name) === runner && (await isListed(runner, namespace, runtime));
  }

  /** Its pod is none of its runtime's any more, so nobody will be heard under this name again; or it was a process, and a pod has taken its place. */
  async function isOver({ metadata: { name }, status }: Runner): Promise<boolean> {
    if (status === undefined) return false;
    if (status.pod === undefined) return caches.runtimes.get(defaultRuntime.namespace, status.runtime)?.status?.runners.some(({ node, ready }) => ready && node === status.node) === true;
    const [namespace = ''] = status.pod.split('/');
    return !(await isListed(name, namespace, status.runtime));
  }

  /** Its runtime, or its pod in it, goes: that nobody is lost by that is no news. */
  function isEnding({ metadata: { name }, status }: Runner): boolean {
    if (status?.pod === undefined) return false;
    const runtime = caches.runtimes.get(status.pod.split('/')[0], status.runtime);
    return runtime === undefined || runtime.metadata.deletionTimestamp !== undefined || !(runtime.status?.runners ?? []).some(({ runner, reason }) => runner === name && reason !== terminating);
  }

  /** The next heartbeat is looked at anew: the Runtime may just not have its pod yet. */
  function doubt({ runner, runtime, pod, node }: RunnerBeat): void {
    beats.delete(runner);
    if (doubted.has(runner)) return;
    if (doubted.size >= mostDoubted) doubted.clear();
    doubted.add(runner);
    log.warn({ runner, runtime, pod, node }, 'a runner says that it is one of a runtime which does not have it (yet); it gets no work before that does');
  }

  function forget(name: string): void {
    beats.delete(name);
    doubted.delete(name);
    silence.forget(name);
  }

  async function reconcile(name: string): Promise<Outcome | void> {
    const nowMs = Date.now();
    const said = beats.get(name);
    const heard = said !== undefined && (await isBelieved(said, caches.runners.get(undefined, name)?.status)) ? said : undefined;
    if (heard !== undefined) doubted.delete(name);
    else if (said !== undefined) doubt(said);
    const silentMs = silence.of(name);
    const silent = silentMs >= lostMs;
    const stored = caches.runners.get(undefined, name);
    // Another controller's heartbeats may be what the object is from: while there is none here, wait.
    if (!silent && heard === undefined) return { againAfterMs: lostMs - silentMs };
    const status = runnerStatusOf(stored?.status, silent ? undefined : heard, lostMs, nowMs);
    if (status === undefined) {
      forget(name);
      return undefined;
    }
    const lostForMs = nowMs - Date.parse(status.lastTransitionTime);
    if (silent && stored !== undefined && (lostForMs >= removeMs || (await isOver(stored)))) {
      forget(name);
      await objects.delete(caches.runners, stored);
      return undefined;
    }
    const written: Runner =
      stored === undefined
        ? await objects.create(caches.runners, { apiVersion: 'roundsman.io/v1', kind: 'Runner', metadata: { name }, spec: {}, status })
        : await objects.updateStatus(caches.runners, stored, status);
    const happening = runnerHappening(stored?.status, status);
    if (happening !== undefined && !(happening[1] === 'RunnerLost' && isEnding(written))) tell(written, ...happening);
    return { againAfterMs: silent ? removeMs - lostForMs : lostMs - silentMs };
  }

  return {
    name: 'runners',
    concurrency: 8,
    keys: () => new Set([...beats.keys(), ...caches.runners.list().map(({ metadata }) => metadata.name)]),
    wakes: [
      heartbeats,
      onChange(caches.runners, ({ object }) => [object.metadata.name]),
      onChange(caches.runtimes, ({ type, object, before }) => {
        const listed = new Set(type === 'DELETED' ? [] : object.status?.runners.map(({ runner }) => runner));
        const processes = caches.runners.list().filter(({ status }) => status?.pod === undefined && status?.ready === false);
        return [...(before?.status?.runners ?? []).flatMap(({ runner }) => (listed.has(runner) ? [] : [runner])), ...processes.map(({ metadata }) => metadata.name)];
      }),
    ],
    reconcile,
  };
}

function withoutTransition({ lastTransitionTime: _time, ...rest }: RunnerStatus): Omit<RunnerStatus, 'lastTransitionTime'> {
  return rest;
}
