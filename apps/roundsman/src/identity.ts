/** The NATS identity of a service: its name, but an agent has one per node. */
export function serviceIdentityOf(service: string, env: NodeJS.ProcessEnv): string {
  if (service !== 'node-agent') return service;
  return `agent-${env['ROUNDSMAN_NODE_AGENT_NODE'] ?? ''}`;
}
