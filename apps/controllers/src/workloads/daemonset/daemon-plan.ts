import { isPodAvailable, isPodEnded, isPodReady, isPodTerminating, resolveIntOrString, type DaemonSet, type DaemonSetStatus, type Node, type Pod } from '@roundsman/api';
import { hashLabel, nodeOf } from './daemon-pod.ts';
import { nodeFit, type NodeFit } from './node-fit.ts';

/** A daemon set, its pods and the nodes, at one moment. */
export interface DaemonView {
  readonly set: DaemonSet;
  readonly hash: string;
  /** All pods of the set. */
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  readonly nowMs: number;
}

export interface DaemonPlan {
  /** Nodes that get a pod. */
  readonly open: readonly string[];
  readonly remove: readonly Pod[];
}

interface Place {
  readonly node: Node;
  readonly fit: NodeFit;
  /** Those that end included, those that have ended while they were to go left out; the eldest first. */
  readonly pods: readonly Pod[];
}

const isNew = ({ metadata }: Pod, hash: string): boolean => metadata.labels?.[hashLabel] === hash;
const isThere = (pod: Pod): boolean => !(isPodTerminating(pod) && isPodEnded(pod));
/** Those on their node before those that wait for it, then by age. */
const elder = (a: Pod, b: Pod): number =>
  Number((a.spec.nodeName ?? '') === '') - Number((b.spec.nodeName ?? '') === '') ||
  Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp) ||
  (a.metadata.name < b.metadata.name ? -1 : 1);

function placesOf({ set, pods, nodes }: DaemonView): Place[] {
  const byNode = Map.groupBy(pods.filter(isThere), nodeOf);
  return nodes.map((node) => ({ node, fit: nodeFit(set, node), pods: (byNode.get(node.metadata.name) ?? []).sort(elder) }));
}

/**
 * One pod on every node that is to have one, none where none may stay, whatever their template. Pods that have ended are in `ended` instead of `remove`: failed
 * ones are replaced with growing delays, which the caller keeps.
 */
export function planPlaces(view: DaemonView): DaemonPlan & { readonly ended: readonly { readonly pod: Pod; readonly node: string }[] } {
  const surges = surgeOf(view.set, view.nodes.length) > 0;
  const open: string[] = [];
  const remove: Pod[] = [];
  const ended: { pod: Pod; node: string }[] = [];
  for (const { node, fit, pods } of placesOf(view)) {
    const { name } = node.metadata;
    const staying = pods.filter((pod) => !isPodTerminating(pod));
    if (!fit.stays) {
      remove.push(...staying);
      continue;
    }
    const running = staying.filter((pod) => !isPodEnded(pod));
    ended.push(...staying.filter(isPodEnded).map((pod) => ({ pod, node: name })));
    // With a surge the new one need not wait for the end of the old one.
    if (fit.runs && (surges ? running.length === 0 && pods.every(isPodTerminating) : pods.length === 0)) open.push(name);
    remove.push(...(surges ? surplusOfSurge(view, running) : running.slice(1)));
  }
  // Meant for nodes that are gone: nobody else would end them.
  const known = new Set(view.nodes.map(({ metadata }) => metadata.name));
  remove.push(...view.pods.filter((pod) => !isPodTerminating(pod) && (pod.spec.nodeName ?? '') === '' && !known.has(nodeOf(pod) ?? '')));
  return { open, remove, ended };
}

/** One old and one new pod may be on a node, until the new one is available or the old one is no use any more. */
function surplusOfSurge({ set, hash, nowMs }: DaemonView, running: readonly Pod[]): Pod[] {
  if (running.length <= 1) return [];
  const [newPod, ...moreNew] = running.filter((pod) => isNew(pod, hash));
  const [oldPod, ...moreOld] = running.filter((pod) => !isNew(pod, hash));
  const replaced = newPod !== undefined && oldPod !== undefined && (!isPodReady(oldPod) || isPodAvailable(newPod, set.spec.minReadySeconds ?? 0, nowMs));
  return [...moreNew, ...moreOld, ...(replaced ? [oldPod] : [])];
}

const rollingOf = (set: DaemonSet) => set.spec.updateStrategy.rollingUpdate;
const surgeOf = (set: DaemonSet, desired: number): number => (set.spec.updateStrategy.type === 'RollingUpdate' ? resolveIntOrString(rollingOf(set)?.maxSurge ?? 0, desired, true) : 0);

/** One step of a rolling update: which old pods go, or get a new one beside them, within the limits. */
export function planUpdate(view: DaemonView): DaemonPlan {
  const { set, nodes, hash, nowMs } = view;
  if (set.spec.updateStrategy.type !== 'RollingUpdate') return { open: [], remove: [] };
  const places = placesOf(view).filter(({ fit, pods }) => fit.runs || pods.length > 0);
  const desired = places.filter(({ fit }) => fit.runs).length;
  const maxSurge = resolveIntOrString(rollingOf(set)?.maxSurge ?? 0, desired, true);
  const isAvailable = (pod: Pod | undefined): boolean => pod !== undefined && isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs);
  const all = places.map((place) => {
    const staying = place.pods.filter((pod) => !isPodTerminating(pod));
    const [newPod, ...moreNew] = staying.filter((pod) => isNew(pod, hash));
    const [oldPod, ...moreOld] = staying.filter((pod) => !isNew(pod, hash));
    return { ...place, newPod, oldPod, crowded: moreNew.length + moreOld.length > 0 };
  });
  const single = all.filter(({ crowded }) => !crowded);
  if (surgeOf(set, nodes.length) === 0) {
    const maxUnavailable = Math.max(1, resolveIntOrString(rollingOf(set)?.maxUnavailable ?? 1, desired, true));
    const old = single.flatMap(({ newPod, oldPod }) => (oldPod !== undefined && newPod === undefined ? [oldPod] : []));
    // Old ones that are no use any more go at once.
    const useless = old.filter((pod) => !isAvailable(pod));
    const unavailable = all.length - single.length + useless.length + single.filter(({ newPod, oldPod }) => (newPod === undefined) === (oldPod === undefined) || (newPod !== undefined && !isAvailable(newPod))).length;
    return { open: [], remove: [...useless, ...old.filter(isAvailable).slice(0, Math.max(0, maxUnavailable - unavailable))] };
  }

  const both = single.filter(({ newPod, oldPod }) => newPod !== undefined && oldPod !== undefined);
  const oldOnly = single.filter(({ newPod, oldPod }) => newPod === undefined && oldPod !== undefined);
  const available = single.filter(({ newPod, oldPod }) => isAvailable(oldPod ?? newPod)).length;
  const leaving = oldOnly.filter(({ fit }) => !fit.runs);
  const surging = all.length - single.length + both.filter(({ newPod }) => !isAvailable(newPod)).length;
  const candidates = oldOnly.filter(({ fit }) => fit.runs);
  const names = (of: typeof all): string[] => of.map(({ node }) => node.metadata.name);
  const oldPods = (of: typeof all): Pod[] => of.flatMap(({ oldPod }) => oldPod ?? []);
  return {
    open: [...names(candidates.filter(({ oldPod }) => !isAvailable(oldPod))), ...names(candidates.filter(({ oldPod }) => isAvailable(oldPod))).slice(0, Math.max(0, maxSurge - surging))],
    remove: [
      ...oldPods(both.filter(({ newPod }) => isAvailable(newPod))),
      ...oldPods(leaving.filter(({ oldPod }) => !isAvailable(oldPod))),
      // Where no pod is to be any more one goes only when another is available instead.
      ...oldPods(leaving.filter(({ oldPod }) => isAvailable(oldPod))).slice(0, Math.max(0, available - desired)),
    ],
  };
}

export function daemonStatus(view: DaemonView, collisionCount: number): DaemonSetStatus {
  const { set, hash, nowMs } = view;
  const places = placesOf(view);
  const wanted = places.filter(({ fit }) => fit.runs);
  const first = wanted.flatMap(({ pods }) => pods[0] ?? []);
  const count = (holds: (pod: Pod) => boolean): number => first.filter(holds).length;
  const available = count((pod) => isPodAvailable(pod, set.spec.minReadySeconds ?? 0, nowMs));
  const unavailable = wanted.length - available;
  const updated = count((pod) => isNew(pod, hash));
  return {
    currentNumberScheduled: first.length,
    numberMisscheduled: places.filter(({ fit, pods }) => !fit.runs && pods.length > 0).length,
    desiredNumberScheduled: wanted.length,
    numberReady: count(isPodReady),
    observedGeneration: set.metadata.generation,
    ...(updated === 0 ? {} : { updatedNumberScheduled: updated }),
    ...(available === 0 ? {} : { numberAvailable: available }),
    ...(unavailable === 0 ? {} : { numberUnavailable: unavailable }),
    ...(collisionCount === 0 ? {} : { collisionCount }),
    ...(set.status?.conditions === undefined ? {} : { conditions: set.status.conditions }),
  };
}
