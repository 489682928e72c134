import type { PodSpec } from '@roundsman/api';
import { never, type Filter } from './filter.ts';

/** Volumes that are claimed: this cluster keeps no claims, so none is ever found, and a pod with one waits instead of being placed where it cannot start. */
export const volumeBinding: Filter = {
  name: 'VolumeBinding',
  helpedBy: [],
  prepare: ({ pod }) => {
    const missing = missingClaim(pod.metadata.name, pod.spec);
    if (missing === undefined) return undefined;
    const refusal = { ...never(missing), ofPod: true };
    return () => refusal;
  },
};

/** Of the first volume that is a claim, or is made of one. */
function missingClaim(pod: string, { volumes = [] }: PodSpec): string | undefined {
  for (const { name, persistentVolumeClaim, ephemeral } of volumes) {
    if (persistentVolumeClaim !== undefined) return `persistentvolumeclaim ${JSON.stringify(persistentVolumeClaim.claimName)} not found`;
    if (ephemeral !== undefined) return `waiting for ephemeral volume controller to create the persistentvolumeclaim ${JSON.stringify(`${pod}-${name}`)}`;
  }
  return undefined;
}
