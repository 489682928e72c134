import { termCondition } from '@roundsman/api';
import { partsOfLargest, type Score } from './score.ts';

/** Preferred node affinity: the sum of the weights of the terms that fit. */
export const preferredNodeAffinity: Score = {
  name: 'NodeAffinity',
  weight: 2,
  of: ({ pod }, nodes) => {
    const terms = (pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ weight, preference }) => ({ weight, fits: termCondition(preference) }));
    if (terms.length === 0) return undefined;
    return partsOfLargest(nodes.map(({ node }) => terms.reduce((sum, { weight, fits }) => sum + (fits(node) ? weight : 0), 0)));
  },
};
