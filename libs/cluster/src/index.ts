export { ClusterError, type Applied, type Change, type Cluster, type ClusterResource, type Followed } from './cluster.ts';
export { openCluster, type ClusterOptions } from './open-cluster.ts';
export { resources } from './resources.ts';
export { MemoryCluster } from './memory-cluster.ts';
