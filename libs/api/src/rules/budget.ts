import type { AdmissionContext } from '../kind.ts';
import type { RunnerStatus } from '../kinds/task.ts';
import type { Carrier } from './carrier.ts';
import { invalidValue, type Findings } from './causes.ts';

/** Requests per second that one runner may be asked for, all targets together, where nothing else is configured: at admission and in the runner. */
export const defaultCapacityQps = 10_000;

interface Request {
  readonly qps: number;
  readonly durationInSecond: number;
}

/** What one runner will be asked for, over all targets, must be within the capacity of each ready runner of the task's runtime and within the configured limit. */
export function budgetRules(request: Request, targets: number, carrier: Carrier, context: AdmissionContext, { causes }: Findings): void {
  const qps = request.qps * targets;
  const { capacity, whose } = capacityOf(carrier, context);
  if (qps > capacity) {
    const times = targets === 1 ? '' : ` (${request.qps} to each of ${targets} targets is ${qps})`;
    const most = Math.floor(capacity / targets);
    const must = most >= 1 ? `must be less than or equal to ${most}: ` : '';
    causes.push(invalidValue('spec.request.qps', request.qps, `${must}${whose} is ${capacity} requests per second${times}`));
    return;
  }
  const requests = qps * request.durationInSecond;
  const { maxRequestsPerRound } = context.limits;
  if (requests > maxRequestsPerRound) {
    causes.push(invalidValue('spec.request.durationInSecond', request.durationInSecond, `makes ${requests} requests per runner and round; the limit is ${maxRequestsPerRound}`));
  }
}

/** The smallest one: every runner takes part in every round. */
function capacityOf({ runners }: Carrier, { limits }: AdmissionContext): { capacity: number; whose: string } {
  let capacity = limits.maxQpsPerRunner;
  let whose = 'the configured capacity of a runner';
  for (const { metadata, status } of runners) {
    const { capacityQps } = (status ?? {}) as Partial<RunnerStatus>;
    if (capacityQps === undefined || capacityQps >= capacity) continue;
    capacity = capacityQps;
    whose = `the capacity of runner ${metadata.name}`;
  }
  return { capacity, whose };
}
