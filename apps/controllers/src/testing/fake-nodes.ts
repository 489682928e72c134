import { podConditionOf, type Pod, type PodStatus } from '@roundsman/api';
import { messages, ServiceError, type Bus, type Write } from '@roundsman/bus';
import { ChangeFeed, Informer, WorkQueue } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import { byKey, objectKey } from '../loop.ts';
import { wholeSeconds } from '../timestamps.ts';

/** What becomes of a pod once it is on a node. */
export type Fate = 'runs' | 'hangs' | 'succeeds' | 'fails';

const beatMs = 200;
const user = 'system:roundsman:tester';

/** Doubles of a scheduler and of node agents: they bind every pod, let it come to what `fate` says, and end those that are deleted. */
export class FakeNodes {
  readonly #bus: Bus;
  readonly #feed: ChangeFeed;
  readonly pods: Informer<Pod>;
  /** What intake refused, or did not answer. */
  readonly problems: string[] = [];
  /** Each pod by one look at a time, again when intake did not answer: as agents do. */
  readonly #looks = new WorkQueue({ reconcile: (key) => this.#look(byKey(this.pods, key)), concurrency: 64, backOff: { baseMs: 50, maxMs: 1_000 }, onError: (key, error) => void this.problems.push(`${key}: ${String(error)}`) });
  readonly #alive = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #next = 0;
  #addresses = 0;
  fate: (pod: Pod) => Fate = () => 'runs';
  /** What else a node tells of itself. */
  tells: (node: string) => { readonly annotations?: Record<string, string>; readonly networkProblem?: string } = () => ({});
  /** Nodes that pods are bound to; undefined: to none. */
  placement: (pod: Pod) => string | undefined = () => [...this.#alive][this.#next++ % Math.max(1, this.#alive.size)];

  constructor(bus: Bus, store: Store) {
    this.#bus = bus;
    this.#feed = new ChangeFeed({ bus, source: store });
    this.pods = new Informer<Pod>({ source: store, feed: this.#feed, resource: 'pods' });
  }

  async start(): Promise<void> {
    await this.#feed.start();
    this.pods.onChange(({ type, object }) => {
      if (type !== 'DELETED') this.#looks.add(objectKey(object));
    });
    this.#looks.start();
    await this.pods.start();
    this.#timer = setInterval(() => this.#beat(), beatMs);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looks.stop();
    await this.pods.stop();
    await this.#feed.stop();
  }

  join(...names: string[]): void {
    for (const name of names) this.#alive.add(name);
    this.#beat();
  }

  /** It falls silent: no heartbeats, nothing happens to its pods. */
  lose(name: string): void {
    this.#alive.delete(name);
  }

  /** Tells anew how its pods are. */
  rejoin(name: string): void {
    this.join(name);
    for (const pod of this.pods.list()) if (pod.spec.nodeName === name) this.#looks.add(objectKey(pod));
  }

  #beat(): void {
    for (const node of this.#alive) {
      const { annotations = {}, networkProblem } = this.tells(node);
      const network = networkProblem === undefined ? [] : [{ type: 'NetworkUnavailable', status: 'True' as const, reason: 'NoPodNetwork', message: networkProblem }];
      this.#bus.publish(messages.nodeBeat, { node }, {
        node, instance: 'i', sentAt: new Date().toISOString(), addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], capacity: { cpu: '2' }, allocatable: { cpu: '2' },
        nodeInfo: { kubeletVersion: 'v1' }, labels: {}, annotations, conditions: [{ type: 'Ready', status: 'True', reason: 'AgentReady', message: 'fine' }, ...network],
      });
    }
  }

  async #look(pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    const { name, namespace = '', uid, deletionTimestamp } = pod.metadata;
    const at = { resource: 'pods', namespace, name, user };
    try {
      const node = pod.spec.nodeName;
      if (node === undefined || node === '') {
        const chosen = deletionTimestamp === undefined ? this.placement(pod) : undefined;
        if (chosen !== undefined) await this.#write({ operation: 'bind', ...at, node: chosen, preconditions: { uid } });
        return;
      }
      if (!this.#alive.has(node)) return;
      if (deletionTimestamp !== undefined) {
        await this.#bus.request(messages.write, {}, { operation: 'delete', ...at, gracePeriodSeconds: 0, preconditions: { uid } });
        return;
      }
      const status = this.#statusOf(pod);
      if (status === undefined) return;
      await this.#write({ operation: 'updateStatus', ...at, object: { ...pod, metadata: { name, namespace, uid }, status } as unknown as Record<string, unknown> });
    } catch (error) {
      // It is gone already, or bound by the look before.
      if (!(error instanceof ServiceError && (error.code === 404 || error.code === 409))) throw error;
    }
  }

  /** The next look sees it, before the message comes. */
  async #write(write: Write): Promise<void> {
    const { object } = await this.#bus.request(messages.write, {}, write);
    this.pods.observe(object as unknown as Pod);
  }

  #address(): string {
    this.#addresses += 1;
    return `10.244.${this.#addresses >> 8}.${this.#addresses & 255}`;
  }

  /** undefined: as it is. */
  #statusOf(pod: Pod): PodStatus | undefined {
    const fate = this.fate(pod);
    if (fate === 'hangs' || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return undefined;
    if (fate === 'succeeds') return { ...pod.status, phase: 'Succeeded', conditions: [] };
    if (fate === 'fails') return { ...pod.status, phase: 'Failed', conditions: [] };
    if (podConditionOf(pod, 'Ready')?.status === 'True') return undefined;
    const podIP = pod.status?.podIP ?? this.#address();
    return { ...pod.status, podIP, podIPs: [{ ip: podIP }], phase: 'Running', startTime: wholeSeconds(Date.now()), conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: wholeSeconds(Date.now()) }] };
  }
}
