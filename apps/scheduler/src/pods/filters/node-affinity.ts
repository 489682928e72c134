import { requiredNodes } from '@roundsman/api';
import { never, type Filter } from './filter.ts';

const refusal = never("node(s) didn't match Pod's node affinity/selector");

/** nodeSelector and required node affinity. */
export const nodeAffinity: Filter = {
  name: 'NodeAffinity',
  helpedBy: ['node-added', 'node-labels'],
  prepare: ({ pod }) => {
    const fits = requiredNodes(pod.spec);
    return fits === undefined ? undefined : (node) => (fits(node.node) ? undefined : refusal);
  },
};
