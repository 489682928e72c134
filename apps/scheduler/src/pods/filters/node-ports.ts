import { notNow, type Filter } from './filter.ts';

const refusal = notNow("node(s) didn't have free ports for the requested pod ports");

/** Ports of the node that another pod has taken. */
export const nodePorts: Filter = {
  name: 'NodePorts',
  helpedBy: ['node-added', 'pod-gone'],
  prepare: ({ hostPorts }) => (hostPorts.length === 0 ? undefined : (node) => (hostPorts.some((port) => node.takesPort(port)) ? refusal : undefined)),
};
