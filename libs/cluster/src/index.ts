export { ClusterError, type Change, type Cluster, type ClusterResource, type Followed } from './cluster.ts';
