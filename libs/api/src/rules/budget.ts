import type { Limits } from '../kind.ts';
import { invalidValue, type Findings } from './causes.ts';

interface Request {
  readonly qps: number;
  readonly durationInSecond: number;
}

/** What one runner will be asked for, over all targets, must be within the configured capacity. */
export function budgetRules(request: Request, targets: number, limits: Limits, { causes }: Findings): void {
  const qps = request.qps * targets;
  const times = targets === 1 ? '' : ` (${request.qps} to each of ${targets} targets is ${qps})`;
  if (qps > limits.maxQpsPerRunner) {
    causes.push(invalidValue('spec.request.qps', request.qps, `must be less than or equal to ${Math.floor(limits.maxQpsPerRunner / targets)}: a runner's capacity is ${limits.maxQpsPerRunner} requests per second${times}`));
    return;
  }
  const requests = qps * request.durationInSecond;
  if (requests > limits.maxRequestsPerRound) {
    causes.push(invalidValue('spec.request.durationInSecond', request.durationInSecond, `makes ${requests} requests per runner and round; the limit is ${limits.maxRequestsPerRound}`));
  }
}
