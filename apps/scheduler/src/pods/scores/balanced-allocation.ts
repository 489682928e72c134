import { best, type Score } from './score.ts';

const resources = ['cpu', 'memory'];

/** How alike the used parts of cpu and memory would be, so that neither is left over without the other: 1 less half their distance. */
export const balancedAllocation: Score = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  of: (pod, nodes) =>
    nodes.map((node) => {
      const used = resources.flatMap((name) => {
        const allocatable = node.allocatable.get(name) ?? 0;
        const requested = (node.requested.get(name) ?? 0) + (pod.requests.get(name) ?? 0);
        return allocatable === 0 ? [] : [Math.min(1, requested / allocatable)];
      });
      const [one, other] = used;
      return Math.trunc((1 - (one === undefined || other === undefined ? 0 : Math.abs(one - other) / 2)) * best);
    }),
};
