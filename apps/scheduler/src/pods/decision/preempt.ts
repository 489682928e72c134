import { isPodTerminating, podConditionOf, type PodDisruptionBudget } from '@roundsman/api';
import type { Cluster } from '../cluster/cluster.ts';
import type { NodeInfo } from '../cluster/node-info.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { fitness, type DecideOptions, type Refusals } from './decide.ts';
import { splitByBudget } from './disruption-budgets.ts';
import { unavailable } from './explain.ts';

/** The pods that have to go from a node so that a more important one fits. */
export interface Eviction {
  readonly node: string;
  /** The most important first. */
  readonly victims: readonly PodInfo[];
}

/** What is to be done; or why nothing is, for the message (undefined: nothing needs to be said). */
export type Preemption = { readonly eviction: Eviction } | { readonly eviction?: undefined; readonly why: string; /** It waits for what was begun before. */ readonly waits: boolean };

export interface PreemptOptions extends Pick<DecideOptions, 'nominated'> {
  readonly budgets: readonly PodDisruptionBudget[];
}

interface Candidate extends Eviction {
  readonly violations: number;
}

/** Finds the node on which making room for a pod costs least. Changes nothing. */
export function preempt(pod: PodInfo, cluster: Cluster, refusals: Refusals, { budgets, nominated }: PreemptOptions): Preemption {
  if (pod.pod.spec.preemptionPolicy === 'Never') return { why: 'not eligible due to preemptionPolicy=Never.', waits: false };
  if (waitsForVictims(pod, cluster, refusals)) return { why: 'not eligible due to a terminating pod on the nominated node.', waits: true };
  const fits = fitness(pod, cluster, nominated);
  const candidates: Candidate[] = [];
  const reasons: (readonly string[])[] = [];
  for (const node of cluster.nodes) {
    if (refusals.get(node.name)?.preemptible !== true) {
      reasons.push(['Preemption is not helpful for scheduling']);
      continue;
    }
    const found = victimsOn(node, pod, fits, budgets);
    if ('reasons' in found) reasons.push(found.reasons);
    else candidates.push(found);
  }
  const eviction = cheapest(candidates);
  return eviction === undefined ? { why: unavailable(cluster.nodes.length, reasons), waits: false } : { eviction };
}

/** Room is being made already: pods that were told to go for it are still there. */
function waitsForVictims({ pod, priority }: PodInfo, { nodes }: Cluster, refusals: Refusals): boolean {
  const name = pod.status?.nominatedNodeName;
  if (name === undefined || name === '' || refusals.get(name)?.preemptible !== true) return false;
  const node = nodes.find((one) => one.name === name);
  for (const other of node?.pods.values() ?? []) if (other.priority < priority && endsByPreemption(other)) return true;
  return false;
}

function endsByPreemption({ pod }: PodInfo): boolean {
  const target = podConditionOf(pod, 'DisruptionTarget');
  return isPodTerminating(pod) && target?.status === 'True' && target.reason === 'PreemptionByScheduler';
}

/** All less important pods are taken away; then as many as possible are spared, those beyond a budget and the important ones first. */
function victimsOn(node: NodeInfo, pod: PodInfo, fits: ReturnType<typeof fitness>, budgets: readonly PodDisruptionBudget[]): Candidate | { reasons: readonly string[] } {
  const lower = [...node.pods.values()].filter(({ priority }) => priority < pod.priority).sort(byImportance);
  if (lower.length === 0) return { reasons: ['No preemption victims found for incoming pod'] };
  const trial = node.copy();
  for (const { uid } of lower) trial.remove(uid);
  const refused = fits(trial);
  if (refused !== undefined) return { reasons: refused.reasons };
  const { beyond, within } = splitByBudget(lower, budgets);
  const spared = (victim: PodInfo): boolean => {
    trial.add(victim);
    if (fits(trial) === undefined) return true;
    trial.remove(victim.uid);
    return false;
  };
  const violating = beyond.filter((victim) => !spared(victim));
  const others = within.filter((victim) => !spared(victim));
  const victims = [...violating, ...others].sort(byImportance);
  // Nothing has to go: the world has changed since it was refused; the next try sees that.
  return victims.length === 0 ? { reasons: ['No preemption victims found for incoming pod'] } : { node: node.name, victims, violations: violating.length };
}

/** Higher priority first, then longer running. */
function byImportance(one: PodInfo, other: PodInfo): number {
  return other.priority - one.priority || startOf(one) - startOf(other);
}
const startOf = ({ pod }: PodInfo): number => (pod.status?.startTime === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(pod.status.startTime));

/** Fewest budgets broken, then least important victims, then fewest, then those that started last. */
function cheapest(candidates: readonly Candidate[]): Candidate | undefined {
  const costs: ((candidate: Candidate) => number)[] = [
    ({ violations }) => violations,
    ({ victims }) => victims[0]?.priority ?? 0,
    // Shifted above zero, so that a few pods of negative priority do not cost less than one of them.
    ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + 2 ** 31, 0),
    ({ victims }) => victims.length,
    ({ victims }) => -Math.min(...victims.filter(({ priority }) => priority === victims[0]?.priority).map(startOf)),
  ];
  let left = candidates;
  for (const cost of costs) {
    const lowest = Math.min(...left.map(cost));
    left = left.filter((candidate) => cost(candidate) === lowest);
  }
  return left[0];
}
