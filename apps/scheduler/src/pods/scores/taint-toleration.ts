import { isTolerated } from '../rules/taints.ts';
import { best, partsOfLargest, type Score } from './score.ts';

/** Fewer taints PreferNoSchedule that the pod does not tolerate. */
export const preferredTaints: Score = {
  name: 'TaintToleration',
  weight: 3,
  of: ({ pod }, nodes) => {
    const tolerations = (pod.spec.tolerations ?? []).filter(({ effect = '' }) => effect === '' || effect === 'PreferNoSchedule');
    const untolerated = nodes.map(({ taints }) => taints.filter((taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations)).length);
    return partsOfLargest(untolerated)?.map((part) => best - part);
  },
};
