import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@roundsman/api';
import { messages, type Bus, type Messages, type Subscription } from '@roundsman/bus';
import type { Outcome } from '@roundsman/reconcile';
import type { z } from 'zod';
import type { Caches } from './caches.ts';
import type { Occurrence } from './events.ts';
import type { Objects } from './objects.ts';
import { wholeSeconds } from './task-status.ts';

export type NodeBeat = z.infer<Messages['nodeBeat']['schema']>;

export interface NodeCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastHeartbeatTime: string;
  lastTransitionTime: string;
}
export interface NodeStatus {
  capacity: Record<string, string>;
  allocatable: Record<string, string>;
  conditions: NodeCondition[];
  addresses: { type: string; address: string }[];
  nodeInfo: Record<string, string>;
}

export interface NodeLifecycleOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly objects: Objects;
  /** Silent for so long: Ready is Unknown. Milliseconds. */
  readonly lostMs: number;
}

/** On a Node: which start of its agent it was written from. */
const instanceAnnotation = 'roundsman.io/agent-instance';

/** What a node's status is to be; times of conditions move only when something changed, so that silence about news is no write. */
export function nodeStatusOf(stored: NodeStatus | undefined, beat: NodeBeat | undefined, lostMs: number, nowMs: number): NodeStatus | undefined {
  if (beat === undefined) return stored && { ...stored, conditions: stored.conditions.map((condition) => (condition.type === 'Ready' ? unknown(condition, lostMs, nowMs) : condition)) };
  const { capacity, allocatable, addresses, nodeInfo } = beat;
  const conditions = beat.conditions.map(({ type, status, reason, message }): NodeCondition => {
    const old = stored?.conditions.find((condition) => condition.type === type);
    const now = wholeSeconds(nowMs);
    if (old !== undefined && old.status === status && old.reason === reason && old.message === message) return old;
    return { type, status, reason, message, lastHeartbeatTime: now, lastTransitionTime: old !== undefined && old.status === status ? old.lastTransitionTime : now };
  });
  return { capacity, allocatable, conditions, addresses, nodeInfo };
}

function unknown(condition: NodeCondition, lostMs: number, nowMs: number): NodeCondition {
  if (condition.status === 'Unknown') return condition;
  return { ...condition, status: 'Unknown', reason: 'NodeStatusUnknown', message: `The node's agent has been silent for ${lostMs / 1000} s.`, lastTransitionTime: wholeSeconds(nowMs) };
}

/** What the step from one status to the next tells people, in Kubernetes' words. */
export function nodeOccurrence(name: string, before: NodeStatus | undefined, after: NodeStatus, nowMs: number): Occurrence | undefined {
  const ready = (status: NodeStatus | undefined): string | undefined => status?.conditions.find(({ type }) => type === 'Ready')?.status;
  const atMs = nowMs;
  if (before === undefined) return { reason: 'RegisteredNode', type: 'Normal', message: `Node ${name} was registered`, atMs };
  if (ready(before) === ready(after)) return undefined;
  if (ready(after) === 'True') return { reason: 'NodeReady', type: 'Normal', message: `Node ${name} is ready`, atMs };
  const why = after.conditions.find(({ type }) => type === 'Ready')?.message ?? '';
  return { reason: 'NodeNotReady', type: 'Warning', message: `Node ${name} is not ready: ${why}`, atMs };
}

/** Keeps a Node object for every node from its agent's heartbeats; writes only what changed. Nodes are removed by people only. */
export class NodeLifecycle {
  readonly #options: NodeLifecycleOptions;
  readonly #beats = new Map<string, { atMs: number; beat: NodeBeat }>();
  readonly #startedMs = Date.now();
  #subscription: Subscription | undefined;

  constructor(options: NodeLifecycleOptions) {
    this.#options = options;
  }

  async start(wake: (node: string) => void): Promise<void> {
    this.#subscription = await this.#options.bus.subscribe(messages.nodeBeat, {}, ({ payload }) => {
      const before = this.#beats.get(payload.node);
      this.#beats.set(payload.node, { atMs: Date.now(), beat: payload });
      const silent = before === undefined || Date.now() - before.atMs >= this.#options.lostMs;
      if (silent || this.#options.caches.nodes.get(undefined, payload.node) === undefined || !isDeepStrictEqual({ ...before.beat, sentAt: '' }, { ...payload, sentAt: '' })) wake(payload.node);
    });
  }

  async stop(): Promise<void> {
    await this.#subscription?.stop();
  }

  keys(): string[] {
    return [...new Set([...this.#beats.keys(), ...this.#options.caches.nodes.list().map(({ metadata }) => metadata.name)])];
  }

  readonly reconcile = async (name: string): Promise<Outcome | void> => {
    const { caches, objects, lostMs } = this.#options;
    const nowMs = Date.now();
    const heard = this.#beats.get(name);
    const silentMs = nowMs - (heard?.atMs ?? this.#startedMs);
    const silent = silentMs >= lostMs;
    const stored = caches.nodes.get(undefined, name) as KubeObject<unknown, NodeStatus> | undefined;
    if (!silent && heard === undefined) return { againAfterMs: lostMs - silentMs };
    const beat = silent ? undefined : heard?.beat;
    const status = nodeStatusOf(stored?.status, beat, lostMs, nowMs);
    // Deleted by a person while its agent is silent: gone until it is heard again.
    if (status === undefined) return undefined;
    const written = await this.#write(name, stored, beat, status);
    const occurrence = nodeOccurrence(name, stored?.status, status, nowMs);
    if (occurrence !== undefined) await objects.tell(caches.events, written, [occurrence]);
    return silent ? undefined : { againAfterMs: lostMs - silentMs };
  };

  async #write(name: string, stored: KubeObject<unknown, NodeStatus> | undefined, beat: NodeBeat | undefined, status: NodeStatus): Promise<KubeObject> {
    const { caches, objects } = this.#options;
    if (stored === undefined) {
      const metadata = { name, labels: beat?.labels ?? {}, annotations: { [instanceAnnotation]: beat?.instance ?? '' } };
      return objects.create(caches.nodes, { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status });
    }
    let node: KubeObject = stored;
    if (beat !== undefined) {
      // Labels that people gave stay.
      const labels = { ...stored.metadata.labels, ...beat.labels };
      const annotations = { ...stored.metadata.annotations, [instanceAnnotation]: beat.instance };
      if (!isDeepStrictEqual(labels, stored.metadata.labels ?? {}) || !isDeepStrictEqual(annotations, stored.metadata.annotations ?? {})) {
        node = await objects.update(caches.nodes, { ...stored, metadata: { ...stored.metadata, labels, annotations } });
      }
    }
    return objects.updateStatus(caches.nodes, node, status);
  }
}
