/** What runners need of this package, without the kinds: whoever imports only this starts in half the time and stays small. */
export { clusterNetworkSchema } from './cluster-network.ts';
export { liveSampleSchema, roundResultSchema } from './round/result.ts';
export { layers, materialsSchema, taskKindSchema, workOrderSchema } from './round/work.ts';
export { defaultCapacityQps } from './rules/budget.ts';
export { runnerPodPorts } from './runtimes.ts';
export { roundMarginMs } from './schedule.ts';
