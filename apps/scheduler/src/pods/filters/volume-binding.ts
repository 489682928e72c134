import { canBeBound, outOfReach, podClaims } from '../rules/storage.ts';
import { never, type Filter } from './filter.ts';

const noVolumes = never("node(s) didn't find available persistent volumes to bind");

/** The volumes of a pod's claims must be within reach of the node; claims that wait for their pod must be able to have one there. */
export const volumeBinding: Filter = {
  name: 'VolumeBinding',
  helpedBy: ['node-added', 'node-labels', 'storage'],
  prepare: ({ pod }, { storage }) => {
    if ((pod.spec.volumes ?? []).length === 0) return undefined;
    const claims = podClaims(pod, storage);
    if (claims.problem !== undefined) {
      const refusal = { ...never(claims.problem), ofPod: true };
      return () => refusal;
    }
    const { bound, delayed } = claims;
    if (bound.length + delayed.length === 0) return undefined;
    return ({ node }) => {
      for (const claim of bound) {
        const problem = outOfReach(claim, node, storage);
        if (problem !== undefined) return never(problem);
      }
      return canBeBound(delayed, node, storage) ? undefined : noVolumes;
    };
  },
};
