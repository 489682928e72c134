import type { Taint } from '@roundsman/api';
import { isTolerated, untoleratedText } from '../rules/taints.ts';
import { never, type Filter } from './filter.ts';

/** A node that is not Ready counts as tainted from that moment, also before its taint is there. */
export const nodeReady: Filter = {
  name: 'NodeReady',
  helpedBy: ['node-added', 'node-conditions'],
  prepare: ({ pod }) => (node) => {
    const status = node.condition('Ready')?.status;
    if (status === 'True') return undefined;
    const taint: Taint = { key: `node.kubernetes.io/${status === 'Unknown' ? 'unreachable' : 'not-ready'}`, effect: 'NoSchedule' };
    return isTolerated(taint, pod.spec.tolerations) ? undefined : never(untoleratedText(taint));
  },
};
