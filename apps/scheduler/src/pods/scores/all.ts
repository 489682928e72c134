import { balancedAllocation } from './balanced-allocation.ts';
import { imageLocality } from './image-locality.ts';
import { preferredPodAffinity } from './inter-pod-affinity.ts';
import { leastAllocated } from './least-allocated.ts';
import { preferredNodeAffinity } from './node-affinity.ts';
import { preferredSpread } from './pod-topology-spread.ts';
import type { Score } from './score.ts';
import { preferredTaints } from './taint-toleration.ts';

/** With Kubernetes' weights. */
export const scores: readonly Score[] = [leastAllocated, balancedAllocation, preferredTaints, preferredNodeAffinity, preferredSpread, preferredPodAffinity, imageLocality];
