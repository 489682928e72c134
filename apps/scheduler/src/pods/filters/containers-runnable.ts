import { never, type Filter } from './filter.ts';

/** A node whose agent has no container runtime carries only Roundsman's own runners. */
export const containersRunnable: Filter = {
  name: 'ContainersRunnable',
  helpedBy: ['node-added', 'node-conditions'],
  prepare: () => (node) => {
    const condition = node.condition('ContainersRunnable');
    if (condition?.status !== 'False') return undefined;
    const why = (condition.message ?? '').trim().replace(/\.$/, '');
    return never(`node(s) cannot run containers${why === '' ? '' : `: ${why}`}`);
  },
};
