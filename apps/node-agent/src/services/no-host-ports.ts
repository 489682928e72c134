import type { HostPorts } from './host-ports.ts';

/** Where this agent forwards nothing. */
export const noHostPorts: HostPorts = {
  publish: (_podUid, ports) => (ports.length === 0 ? Promise.resolve() : Promise.reject(new Error('host ports cannot be published: this agent forwards nothing (ROUNDSMAN_NODE_AGENT_SERVICE_PROXY=off)'))),
  release: () => Promise.resolve(),
  keepOnly: () => Promise.resolve(),
};
