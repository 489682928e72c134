import { untoleratedTaint, untoleratedText } from '../rules/taints.ts';
import { never, type Filter } from './filter.ts';

/** Taints NoSchedule and NoExecute that the pod does not tolerate; the first of them is told. */
export const taintToleration: Filter = {
  name: 'TaintToleration',
  helpedBy: ['node-added', 'node-taints'],
  prepare: ({ pod }) => (node) => {
    const taint = untoleratedTaint(node.taints, pod.spec.tolerations);
    return taint === undefined ? undefined : never(untoleratedText(taint));
  },
};
