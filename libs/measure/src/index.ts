export { valueOf } from './histogram.ts';
export { DistributionCollector, percentiles, type Percentiles } from './distribution.ts';
export { judge } from './success.ts';
export { compareNames } from './names.ts';
export { verdictOf } from './verdict/verdict.ts';
export type { RunnerOutcome } from './verdict/observation.ts';
