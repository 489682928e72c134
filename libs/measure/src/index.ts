export { Histogram, bucketOf, valueOf, gamma, maxBucket } from './histogram.ts';
export { DistributionCollector, percentiles, type Percentiles } from './distribution.ts';
export { judge, type Counts, type Judgement } from './success.ts';
export { aggregate, matrix, compareNames, type Aggregate, type Matrix, type MatrixCell, type RunnerResults } from './aggregate.ts';
export { compareRounds, type OutcomeChange, type RoundComparison } from './compare.ts';
export { verdictOf } from './verdict/verdict.ts';
export type { RunnerOutcome } from './verdict/observation.ts';
