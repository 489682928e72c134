import { isPodEnded, type Node, type Pod } from '@roundsman/api';
import type { Deps, LoopDefinition } from '../loop.ts';
import { withDisruption } from '../nodes/pod-conditions.ts';

const passMs = 20_000;
/** A node must be gone for so long: it may come back under its name. */
const quarantineMs = 40_000;
const outOfServiceTaint = 'node.kubernetes.io/out-of-service';

const bornMs = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp);

/** The ended pods beyond those that are kept: evicted ones first, then the oldest. */
export function surplusEnded(pods: readonly Pod[], kept: number): Pod[] {
  const ended = pods.filter((pod) => isPodEnded(pod) && pod.metadata.deletionTimestamp === undefined);
  const evicted = ({ status }: Pod): number => Number(status?.reason === 'Evicted');
  return ended.sort((a, b) => evicted(b) - evicted(a) || bornMs(a) - bornMs(b)).slice(0, Math.max(0, ended.length - kept));
}

const isOutOfService = ({ spec, status }: Node): boolean =>
  spec.taints?.some(({ key }) => key === outOfServiceTaint) === true && status?.conditions?.find(({ type }) => type === 'Ready')?.status !== 'True';

/** Removes pods that nobody else will: of nodes that are gone or out of service, deleted before they had a node, and too many that have ended. */
export function podGarbage({ caches, objects, log, settings: { endedPodsKept } }: Deps): LoopDefinition {
  /** Nodes that pods name and that do not exist -> since when that is known. */
  const absent = new Map<string, number>();

  async function remove(pod: Pod, why: string, message?: string): Promise<void> {
    log.info({ pod: pod.metadata.name, namespace: pod.metadata.namespace, node: pod.spec.nodeName }, `removing a pod: ${why}`);
    if (message !== undefined && !isPodEnded(pod)) {
      await objects.updateStatus(caches.pods, pod, { ...withDisruption(pod, 'DeletionByPodGC', message, Date.now()), phase: 'Failed' }, { exact: true });
    }
    await objects.delete(caches.pods, pod, { gracePeriodSeconds: 0 });
  }

  async function isGone(node: string, nowMs: number): Promise<boolean> {
    if (caches.nodes.get(undefined, node) !== undefined) {
      absent.delete(node);
      return false;
    }
    const since = absent.get(node) ?? nowMs;
    absent.set(node, since);
    return nowMs - since >= quarantineMs && (await caches.stored('nodes', undefined, node)) === undefined;
  }

  return {
    name: 'pod-garbage',
    resyncMs: passMs,
    keys: () => ['pods'],
    wakes: [],
    async reconcile() {
      const nowMs = Date.now();
      const all = caches.pods.list();
      const nodes = new Set(all.flatMap(({ spec }) => spec.nodeName || []));
      for (const node of absent.keys()) if (!nodes.has(node)) absent.delete(node);
      for (const name of nodes) {
        const node = caches.nodes.get(undefined, name);
        if (node !== undefined && isOutOfService(node)) {
          for (const pod of caches.pods.by('node', name)) if (pod.metadata.deletionTimestamp !== undefined) await remove(pod, 'its node is out of service', 'PodGC: node is out of service');
        } else if (await isGone(name, nowMs)) {
          for (const pod of caches.pods.by('node', name)) await remove(pod, 'its node no longer exists', 'PodGC: node no longer exists');
        }
      }
      for (const pod of all) if (!pod.spec.nodeName && pod.metadata.deletionTimestamp !== undefined) await remove(pod, 'it was deleted before it had a node');
      for (const pod of surplusEnded(all, endedPodsKept)) await remove(pod, `more than ${endedPodsKept} have ended`);
    },
  };
}
