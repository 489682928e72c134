import { isDeepStrictEqual } from 'node:util';
import { nodeNetworkAnnotations, type Node, type NodeCondition, type NodeStatus } from '@roundsman/api';
import { messages, type Messages } from '@roundsman/bus';
import type { Happening, Outcome } from '@roundsman/reconcile';
import type { z } from 'zod';
import { onChange, type Deps, type LoopDefinition, type Wake } from '../loop.ts';
import { Silence } from '../silence.ts';
import { wholeSeconds } from '../timestamps.ts';

export type NodeBeat = z.infer<Messages['nodeBeat']['schema']>;

/** On a Node: which start of its agent it was written from. */
const instanceAnnotation = 'roundsman.io/agent-instance';

/** Told by the agent about its machine: while it is silent nobody knows. */
const lapsing = new Set(['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']);

/** What a node's status is to be; times of conditions move only when something changed, so that silence about news is no write. */
export function nodeStatusOf(stored: NodeStatus | undefined, beat: NodeBeat | undefined, lostMs: number, nowMs: number): NodeStatus | undefined {
  const before = stored?.conditions ?? [];
  if (beat === undefined) return stored && { ...stored, conditions: before.map((condition) => (lapsing.has(condition.type) ? unknown(condition, lostMs, nowMs) : condition)) };
  const { capacity, allocatable, addresses, nodeInfo } = beat;
  const conditions = beat.conditions.map(({ type, status, reason, message }): NodeCondition => {
    const old = before.find((condition) => condition.type === type);
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

const toldByAgents = new Set<string>(Object.values(nodeNetworkAnnotations));

/** Those that people gave stay; what the agent no longer tells is taken off. */
function annotationsOf(before: Readonly<Record<string, string>>, beat: NodeBeat | undefined): Record<string, string> {
  const others = Object.entries(before).filter(([key]) => !toldByAgents.has(key));
  return { ...Object.fromEntries(others), ...beat?.annotations, [instanceAnnotation]: beat?.instance ?? '' };
}

/** What the step from one status to the next tells people, in Kubernetes' words. */
export function nodeHappening(name: string, before: NodeStatus | undefined, after: NodeStatus): Happening | undefined {
  const ready = (status: NodeStatus | undefined): string | undefined => status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  if (before === undefined) return ['Normal', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`];
  if (ready(before) === ready(after)) return undefined;
  // Why is in the condition.
  const reason = ready(after) === 'True' ? 'NodeReady' : 'NodeNotReady';
  return ['Normal', reason, `Node ${name} status is now: ${reason}`];
}

/** That containers can no longer be run there. Not of a node whose pods were switched off: somebody wanted that. */
export function containersHappening(name: string, before: NodeStatus | undefined, after: NodeStatus): Happening | undefined {
  const runnable = (status: NodeStatus | undefined): NodeCondition | undefined => status?.conditions?.find(({ type }) => type === 'ContainersRunnable');
  const now = runnable(after);
  if (runnable(before)?.status !== 'True' || now?.status !== 'False' || now.reason === 'NoContainerRuntime') return undefined;
  return ['Warning', 'ContainerRuntimeUnavailable', `Node ${name} cannot run containers: ${now.message ?? ''}`];
}

/** Keeps a Node object for every node from its agent's heartbeats; writes only what changed. Nodes are removed by people only. A key is a node's name. */
export function nodeLifecycle({ bus, caches, objects, recorder, settings: { nodeLostMs: lostMs } }: Deps): LoopDefinition {
  const tell = recorder.from('node-controller');
  const beats = new Map<string, NodeBeat>();
  const silence = new Silence(() => bus.health().connected);

  const heartbeats: Wake = async (wake) => {
    silence.start();
    const subscription = await bus.subscribe(messages.nodeBeat, {}, ({ payload }) => {
      const before = beats.get(payload.node);
      const news = before === undefined || silence.of(payload.node) >= lostMs || caches.nodes.get(undefined, payload.node) === undefined || !isDeepStrictEqual({ ...before, sentAt: '' }, { ...payload, sentAt: '' });
      beats.set(payload.node, payload);
      silence.heard(payload.node);
      if (news) wake(payload.node);
    });
    return () => {
      silence.stop();
      return subscription.stop();
    };
  };

  /** Who was deleted is a node again when its agent is heard the next time: what it said before says nothing of that. */
  const changes = onChange(caches.nodes, ({ type, object: { metadata } }) => {
    if (type === 'DELETED') beats.delete(metadata.name);
    return [metadata.name];
  });

  async function reconcile(name: string): Promise<Outcome | void> {
    const nowMs = Date.now();
    const heard = beats.get(name);
    const silentMs = silence.of(name);
    const silent = silentMs >= lostMs;
    const stored = caches.nodes.get(undefined, name);
    if (!silent && heard === undefined) return { againAfterMs: lostMs - silentMs };
    const beat = silent ? undefined : heard;
    const status = nodeStatusOf(stored?.status, beat, lostMs, nowMs);
    // Deleted by a person: gone until its agent is heard again.
    if (status === undefined) return undefined;
    const written = await write(name, stored, beat, status);
    for (const happening of [nodeHappening, containersHappening]) {
      const told = happening(name, stored?.status, status);
      if (told !== undefined) tell(written, ...told);
    }
    return silent ? undefined : { againAfterMs: lostMs - silentMs };
  }

  async function write(name: string, stored: Node | undefined, beat: NodeBeat | undefined, status: NodeStatus): Promise<Node> {
    if (stored === undefined) {
      const metadata = { name, labels: beat?.labels ?? {}, annotations: annotationsOf({}, beat) };
      return objects.create(caches.nodes, { apiVersion: 'v1', kind: 'Node', metadata, spec: {}, status });
    }
    let node = stored;
    if (beat !== undefined) {
      // Labels that people gave stay.
      const labels = { ...stored.metadata.labels, ...beat.labels };
      const annotations = annotationsOf(stored.metadata.annotations ?? {}, beat);
      if (!isDeepStrictEqual(labels, stored.metadata.labels ?? {}) || !isDeepStrictEqual(annotations, stored.metadata.annotations ?? {})) {
        node = await objects.update(caches.nodes, { ...stored, metadata: { ...stored.metadata, labels, annotations } });
      }
    }
    return objects.updateStatus(caches.nodes, node, status);
  }

  return {
    name: 'nodes',
    concurrency: 8,
    keys: () => new Set([...beats.keys(), ...caches.nodes.list().map(({ metadata }) => metadata.name)]),
    wakes: [heartbeats, changes],
    reconcile,
  };
}
