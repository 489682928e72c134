import type { DaemonSet, Pod } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { isControlledBy } from '../../owner.ts';
import { claimed, ownersConcerned } from '../adoption.ts';
import { availableInMs } from '../pod-state.ts';
import { isNamespaceEnding, Pods } from '../pods.ts';
import { History } from '../revisions/history.ts';
import { slowStart } from '../slow-start.ts';
import { daemonStatus, planPlaces, planUpdate, type DaemonPlan, type DaemonView } from './daemon-plan.ts';
import { daemonPod, hashLabel } from './daemon-pod.ts';
import { FailedPods } from './failed-pods.ts';
import { nodeFit } from './node-fit.ts';

/** Pods made or ended in one look. */
const burst = 250;

/** Keeps one pod on every node that fits. */
export function daemonSets(deps: Deps): LoopDefinition {
  const { caches, objects, recorder } = deps;
  const tell = recorder.from('daemonset-controller');
  const pods = new Pods(deps, tell);
  const history = new History(deps, caches.daemonSets, hashLabel);
  const failedPods = new FailedPods();

  async function carryOut(set: DaemonSet, { open, remove }: DaemonPlan, hash: string): Promise<unknown> {
    const made = await slowStart(Math.min(open.length, burst), (i) => pods.create(set, daemonPod(set, open[i]!, hash)));
    const ended = await Promise.allSettled(remove.slice(0, burst).map((pod) => pods.delete(set, pod)));
    return (isNamespaceEnding(made.error) ? undefined : made.error) ?? ended.find((outcome) => outcome.status === 'rejected')?.reason;
  }

  /** Those that have ended go, failed ones as their delays allow. */
  function replaceEnded(set: DaemonSet, ended: readonly { pod: Pod; node: string }[], nowMs: number): { remove: Pod[]; waitMs: number | undefined } {
    const remove: Pod[] = [];
    let waitMs: number | undefined;
    for (const { pod, node } of ended) {
      const { namespace, name } = pod.metadata;
      const failed = pod.status?.phase === 'Failed';
      const key = `${set.metadata.uid}/${set.metadata.generation}/${node}`;
      const left = failed ? failedPods.waitMs(key, nowMs) : 0;
      if (left > 0) {
        waitMs = Math.min(waitMs ?? left, left);
        continue;
      }
      if (failed) {
        failedPods.replaced(key, nowMs);
        tell(set, 'Warning', 'FailedDaemonPod', `Found failed daemon pod ${namespace}/${name} on node ${node}, will try to kill it`);
      } else tell(set, 'Normal', 'SucceededDaemonPod', `Found succeeded daemon pod ${namespace}/${name} on node ${node}, will try to delete it`);
      remove.push(pod);
    }
    return { remove, waitMs };
  }

  return {
    name: 'daemonsets',
    keys: keysOf(caches.daemonSets),
    wakes: [
      onOwnChange(caches.daemonSets),
      onChange(caches.pods, ({ object, before }) => ownersConcerned(caches.daemonSets, object, before).map(objectKey)),
      // A heartbeat changes nothing here; labels, taints and new nodes may.
      onChange(caches.nodes, ({ type, object, before }) => {
        const isSame = (set: DaemonSet): boolean => {
          if (before === undefined || type === 'DELETED') return false;
          const [then, now] = [nodeFit(set, before), nodeFit(set, object)];
          return then.runs === now.runs && then.stays === now.stays;
        };
        return caches.daemonSets.list().filter((set) => !isSame(set)).map(objectKey);
      }),
    ],
    async reconcile(key) {
      const set = byKey(caches.daemonSets, key);
      if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
      const { present, all, collisionCount } = await history.of(set);
      const hash = present.metadata.labels?.[hashLabel] ?? '';
      const found = await claimed(deps, { owner: set, owners: caches.daemonSets, selector: set.spec.selector, cache: caches.pods });
      const view: DaemonView = { set, hash, pods: found, nodes: caches.nodes.list(), nowMs: Date.now() };
      const places = planPlaces(view);
      const { remove, waitMs } = replaceEnded(set, places.ended, view.nowMs);
      let problem = await carryOut(set, { open: places.open, remove: [...places.remove, ...remove] }, hash);
      // Every node is as it should be, but for the template.
      if (problem === undefined && places.open.length + places.remove.length + remove.length === 0) problem = await carryOut(set, planUpdate(view), hash);

      const now = caches.pods.byOwner(set.metadata.uid).filter((pod) => isControlledBy(pod, set));
      const nowMs = Date.now();
      await objects.updateStatus(caches.daemonSets, set, daemonStatus({ ...view, pods: now, nowMs }, collisionCount));
      if (problem !== undefined) throw problem;
      await history.trim(set, all, (revision) => revision.metadata.name === present.metadata.name || now.some(({ metadata }) => metadata.labels?.[hashLabel] === revision.metadata.labels?.[hashLabel]));
      const waits = [...(waitMs === undefined ? [] : [waitMs]), ...now.flatMap((pod) => availableInMs(pod, set.spec.minReadySeconds ?? 0, nowMs) ?? []).filter((ms) => ms > 0)];
      return waits.length === 0 ? undefined : { againAfterMs: Math.min(...waits) };
    },
  };
}
