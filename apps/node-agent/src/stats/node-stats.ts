import { setTimeout as sleep } from 'node:timers/promises';
import { endpoint, messages, type Bus, type Subscription } from '@roundsman/bus';
import type { PodRuntime } from '@roundsman/containers';
import type { z } from 'zod';
import type { PodsOnNode, RunOnNode } from '../streams/pods-on-node.ts';
import { machineUsage } from './machine-usage.ts';
import { containerUsage, nodeUsage, type Sample, type Usage } from './rates.ts';

type Answer = z.infer<typeof messages.nodeStats.reply>;

/** A sample is taken this often, so that there is an earlier one whenever somebody asks. */
const sampleEveryMs = 15_000;
/** Over less than this a rate says nothing. */
const leastWindowMs = 1_000;

/** Tells what a node and the containers on it use. */
export class NodeStats {
  readonly #bus: Bus;
  readonly #node: string;
  readonly #share: number;
  readonly #runtime: PodRuntime;
  readonly #pods: PodsOnNode;
  /** The last two, newest last. */
  #samples: readonly Sample[] = [];
  #timer: NodeJS.Timeout | undefined;
  #served: Subscription | undefined;
  /** For all who ask at the same time. */
  #answer: Promise<Answer> | undefined;

  /** `share`: the part of the machine that is this node, up to 1. */
  constructor(bus: Bus, node: string, share: number, runtime: PodRuntime, pods: PodsOnNode) {
    this.#bus = bus;
    this.#node = node;
    this.#share = share;
    this.#runtime = runtime;
    this.#pods = pods;
  }

  async start(): Promise<void> {
    await this.#keep();
    this.#timer = setInterval(() => void this.#keep(), sampleEveryMs);
    this.#served = await this.#bus.serve({ name: 'agent', version: '1.0.0', description: 'What a node and its pods use' }, [
      endpoint(messages.nodeStats, () => (this.#answer ??= this.#measure().finally(() => (this.#answer = undefined))), { node: this.#node }),
    ]);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#served?.stop();
  }

  async #measure(): Promise<Answer> {
    const [oldest, newest] = this.#samples;
    const before = newest !== undefined && Date.now() - newest.atMs >= leastWindowMs ? newest : oldest;
    if (before === undefined) throw new Error('nothing was measured yet');
    await sleep(Math.max(0, before.atMs + leastWindowMs - Date.now()));
    const now = await this.#sample();
    const pods = [...this.#pods.workers.values()].map(({ pod, runs }) => ({
      namespace: pod.metadata.namespace ?? '',
      name: pod.metadata.name,
      uid: pod.metadata.uid,
      containers: [...runs].flatMap(([name, [newest]]) => usageOf(name, newest, before, now)),
    }));
    return {
      at: new Date(now.atMs).toISOString(),
      windowSeconds: (now.atMs - before.atMs) / 1000,
      node: nodeUsage(this.#share, pods.flatMap(({ containers }) => containers), before, now),
      pods: pods.filter(({ containers }) => containers.length > 0),
    };
  }

  async #keep(): Promise<void> {
    try {
      this.#samples = [...this.#samples.slice(-1), await this.#sample()];
    } catch {
      // The daemon is away: the node says so elsewhere, and what was measured before still counts.
    }
  }

  async #sample(): Promise<Sample> {
    const running = [...this.#pods.workers.values()].flatMap(({ runs }) => [...runs.values()].flatMap(([newest]) => (newest?.state === 'running' ? [newest.id] : [])));
    const [machine, containers] = await Promise.all([machineUsage(), this.#runtime.stats(running)]);
    return { atMs: Date.now(), machine, containers };
  }
}

const usageOf = (name: string, run: RunOnNode | undefined, before: Sample, now: Sample): ({ readonly name: string } & Usage)[] => {
  const usage = run === undefined ? undefined : containerUsage(run.id, run.startedAt, before, now);
  return usage === undefined ? [] : [{ name, ...usage }];
};
