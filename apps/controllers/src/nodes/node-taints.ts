import { isDeepStrictEqual } from 'node:util';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { wholeSeconds } from '../timestamps.ts';
import { isBlackout, mayLeaveAtMs } from './disruption-pace.ts';
import { leavingTaint, leavingTaintOf, readiness, taintsOf } from './taints.ts';

/** Keeps the taints that follow from how a node is: pressure, cordons, not ready, unreachable. */
export function nodeTaints({ caches, objects, settings: { nodeTaintsPerSecond } }: Deps): LoopDefinition {
  return {
    name: 'node-taints',
    // The pace looks at what was written for the node before.
    concurrency: 1,
    keys: keysOf(caches.nodes),
    wakes: [
      // How many are ready decides for all of them.
      onChange(caches.nodes, ({ object, before }) => (before !== undefined && readiness(before) === readiness(object) ? [objectKey(object)] : keysOf(caches.nodes)())),
    ],
    async reconcile(key) {
      const node = byKey(caches.nodes, key);
      if (node === undefined || node.status?.conditions === undefined) return undefined;
      const nodes = caches.nodes.list();
      const wanted = isBlackout(nodes) ? undefined : leavingTaint(node);
      const present = leavingTaintOf(node);
      const nowMs = Date.now();
      let waitMs: number | undefined;
      let leaving: { key: string; timeAdded: string } | undefined;
      if (wanted !== undefined) {
        const atMs = present === undefined ? mayLeaveAtMs(node, nodes, nodeTaintsPerSecond, nowMs) : 0;
        // One that was told for another reason already keeps its time.
        if (atMs !== undefined && atMs <= nowMs) leaving = { key: wanted, timeAdded: present?.timeAdded ?? wholeSeconds(nowMs) };
        else if (atMs !== undefined) waitMs = atMs - nowMs;
      }
      const taints = taintsOf(node, leaving);
      if (!isDeepStrictEqual(taints, node.spec.taints ?? [])) {
        const { taints: _before, ...spec } = node.spec;
        await objects.update(caches.nodes, { ...node, spec: { ...spec, ...(taints.length === 0 ? {} : { taints }) } });
      }
      return waitMs === undefined ? undefined : { againAfterMs: waitMs };
    },
  };
}
