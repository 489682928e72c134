import { never, type Filter } from './filter.ts';

const refusal = never("node(s) didn't match the requested node name");

/** spec.nodeName: such pods do not pass here, except where it is asked whether one would fit. */
export const nodeName: Filter = {
  name: 'NodeName',
  helpedBy: ['node-added'],
  prepare: ({ pod }) => {
    const wanted = pod.spec.nodeName;
    return wanted === undefined || wanted === '' ? undefined : (node) => (node.name === wanted ? undefined : refusal);
  },
};
