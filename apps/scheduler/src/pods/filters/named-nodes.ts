import { namedNodes } from '../rules/node-selector.ts';
import { never, type Filter } from './filter.ts';

const elsewhere = never("node(s) didn't satisfy plugin(s) [NodeAffinity]");
const none = never('pod affinity terms conflict');

/** A pod that names its nodes (as those of a DaemonSet do) is tried on no other: whatever else is wrong with those is not of interest. */
export const namedNodesOnly: Filter = {
  name: 'NodeAffinity',
  helpedBy: ['node-added'],
  prepare: ({ pod }) => {
    const names = namedNodes(pod.spec);
    if (names === undefined) return undefined;
    return names.size === 0 ? () => none : (node) => (names.has(node.name) ? undefined : elsewhere);
  },
};
