import { ApiError, forbidden, isPodReady, kindByResource, selects, valueAt, type Kind, type KubeObject, type LabelSelector, type Pod, type StatusDetails } from '@roundsman/api';
import { checkPreconditions, remove } from './deletion.ts';
import { admitted, timestamp, type Admitted, type AdmissionView, type WriteRequest } from './outcome.ts';
import { withCondition } from './pod-condition.ts';

const budgetResource = 'poddisruptionbudgets.policy';
/** Evictions of one budget that its controller has not seen yet. */
const mostDisrupted = 2_000;

interface BudgetStatus {
  readonly observedGeneration?: number;
  readonly disruptionsAllowed: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly disruptedPods?: Readonly<Record<string, string>>;
  readonly conditions?: readonly Record<string, unknown>[];
}
interface BudgetSpec {
  readonly selector?: LabelSelector;
  readonly unhealthyPodEvictionPolicy?: string;
}

/** Deletes a pod unless its disruption budget forbids it; what the budget still allows is counted down in the same transaction. */
export function evict(kind: Kind, pod: KubeObject, write: WriteRequest, view: AdmissionView): Admitted {
  checkPreconditions(kind, pod, write);
  const phase = valueAt(pod, 'status', 'phase');
  // What does not run, or ends already, disrupts nothing any more.
  const free = phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
  const before = free ? undefined : countedDown(pod, write, view);
  const status = withCondition(pod, { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' }, view.now);
  const outcome = remove(kind, write.dryRun || pod.metadata.deletionTimestamp !== undefined ? pod : { ...pod, status }, write, view);
  return before === undefined ? outcome : { ...outcome, before };
}

/** The budget after this eviction; undefined when none is concerned. Throws when it allows no more. */
function countedDown(pod: KubeObject, write: WriteRequest, view: AdmissionView): Admitted | undefined {
  const budgets = budgetsOf(pod, view);
  if (budgets.length > 1) throw new ApiError('InternalError', 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.');
  const [budget] = budgets;
  if (budget === undefined) return undefined;
  const { unhealthyPodEvictionPolicy } = budget.spec as BudgetSpec;
  const status: BudgetStatus = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, ...(budget.status as Partial<BudgetStatus> | undefined) };
  const enough = status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy;
  // One that is not ready counts for nothing in the budget.
  if (!isPodReady(pod as Pod) && (unhealthyPodEvictionPolicy === 'AlwaysAllow' || enough)) return undefined;
  refuseAtLimit(budget, status);
  const kind = kindByResource.get(budgetResource)!;
  const disruptionsAllowed = status.disruptionsAllowed - 1;
  const next: BudgetStatus = {
    ...status,
    disruptionsAllowed,
    disruptedPods: { ...status.disruptedPods, [pod.metadata.name]: timestamp(view.now) },
    ...(disruptionsAllowed === 0 && { conditions: exhausted(budget, status, view.now) }),
  };
  return admitted(kind, 'MODIFIED', { ...budget, metadata: { ...budget.metadata }, status: next }, [], write);
}

function refuseAtLimit(budget: KubeObject, status: BudgetStatus): void {
  const { name, generation } = budget.metadata;
  const about = { plural: 'poddisruptionbudget', group: 'policy' };
  const refused = (message: string, retryAfterSeconds?: number): ApiError => {
    const details: StatusDetails = { causes: [{ reason: 'DisruptionBudget', message }], ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
    return new ApiError('TooManyRequests', "Cannot evict pod as it would violate the pod's disruption budget.", details);
  };
  if ((status.observedGeneration ?? 0) < generation) throw refused(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (status.disruptionsAllowed < 0) throw forbidden(about, name, 'pdb disruptions allowed is negative');
  if (Object.keys(status.disruptedPods ?? {}).length > mostDisrupted) throw forbidden(about, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  if (status.disruptionsAllowed === 0) throw refused(`The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`);
}

/** As admitted so far: two evictions of one batch must not both take the last disruption. */
function budgetsOf({ metadata }: KubeObject, view: AdmissionView): KubeObject[] {
  return view
    .list(budgetResource)
    .filter((budget) => budget.metadata.namespace === metadata.namespace && selects((budget.spec as BudgetSpec).selector, metadata.labels));
}

function exhausted({ metadata }: KubeObject, { conditions = [] }: BudgetStatus, now: number): readonly Record<string, unknown>[] {
  const before = conditions.find(({ type }) => type === 'DisruptionAllowed');
  const lastTransitionTime = before?.['status'] === 'False' ? before['lastTransitionTime'] : timestamp(now);
  const next = { type: 'DisruptionAllowed', status: 'False', observedGeneration: metadata.generation, lastTransitionTime, reason: 'InsufficientPods', message: '' };
  return [...conditions.filter((one) => one !== before), next];
}
