import { isTolerated } from '../rules/taints.ts';
import { never, type Filter } from './filter.ts';

const refusal = never('node(s) were unschedulable');

/** A cordoned node, unless the pod tolerates that. */
export const nodeUnschedulable: Filter = {
  name: 'NodeUnschedulable',
  helpedBy: ['node-added', 'node-taints'],
  prepare: ({ pod }) => {
    const tolerated = isTolerated({ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }, pod.spec.tolerations);
    return tolerated ? undefined : (node) => (node.node.spec?.unschedulable === true ? refusal : undefined);
  },
};
