import { notNow, type Filter } from './filter.ts';

/** What the pod asks for must be free on the node, by requests and not by what is used; every resource that is short is told. */
export const nodeResourcesFit: Filter = {
  name: 'NodeResourcesFit',
  helpedBy: ['node-added', 'node-allocatable', 'pod-gone'],
  prepare: ({ requests }) => {
    const wanted = [...requests].filter(([, amount]) => amount > 0);
    return (node) => {
      const short: string[] = [];
      if (node.pods.size + 1 > (node.allocatable.get('pods') ?? 0)) short.push('Too many pods');
      for (const [name, amount] of wanted) {
        if (amount > (node.allocatable.get(name) ?? 0) - (node.requested.get(name) ?? 0)) short.push(`Insufficient ${name}`);
      }
      return short.length === 0 ? undefined : notNow(...short);
    };
  },
};
