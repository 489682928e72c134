export { FollowedNetwork } from './followed-network.ts';
export { NetworkState, type NetworkObjects, type NetworkStateChange } from './network-state.ts';
export type { NetworkNode } from './network-node.ts';
