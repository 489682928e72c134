import { containersRunnable } from './containers-runnable.ts';
import type { Filter } from './filter.ts';
import { interPodAffinity } from './inter-pod-affinity.ts';
import { namedNodesOnly } from './named-nodes.ts';
import { nodeAffinity } from './node-affinity.ts';
import { nodeName } from './node-name.ts';
import { nodePorts } from './node-ports.ts';
import { nodeReady } from './node-ready.ts';
import { nodeResourcesFit } from './node-resources-fit.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { podTopologySpread } from './pod-topology-spread.ts';
import { taintToleration } from './taint-toleration.ts';
import { volumeBinding } from './volume-binding.ts';
import { volumeRestrictions } from './volume-restrictions.ts';

/** In the order in which they are asked: the first that refuses a node is the one that is told. */
export const filters: readonly Filter[] = [
  volumeBinding,
  volumeRestrictions,
  namedNodesOnly,
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeReady,
  containersRunnable,
  nodeAffinity,
  nodePorts,
  nodeResourcesFit,
  podTopologySpread,
  interPodAffinity,
];
