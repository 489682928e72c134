export { NodeStats, type Stats } from './node-stats.ts';
export { nodeMetricsOf, podMetricsOf } from './metrics.ts';
