import { best, type Score } from './score.ts';

const resources = ['cpu', 'memory'];

/** The mean of what would be left of cpu and memory, so that work is spread evenly. */
export const leastAllocated: Score = {
  name: 'NodeResourcesFit',
  weight: 1,
  of: (pod, nodes) =>
    nodes.map((node) => {
      const parts = resources.flatMap((name) => {
        const allocatable = node.allocatable.get(name) ?? 0;
        const requested = (node.compared.get(name) ?? 0) + (pod.comparedRequests.get(name) ?? 0);
        return allocatable === 0 ? [] : [requested > allocatable ? 0 : Math.floor(((allocatable - requested) * best) / allocatable)];
      });
      return parts.length === 0 ? 0 : Math.floor(parts.reduce((sum, part) => sum + part, 0) / parts.length);
    }),
};
