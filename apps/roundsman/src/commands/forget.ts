import { GatewayClient, readyOf, removeNode } from '../gateway-client.ts';
import { Home } from '../home.ts';
import { removeMember } from '../join/members.ts';
import { alive, signal } from '../processes.ts';
import { UserError } from '../user-error.ts';

/** A silent node is noticed after 10 s, unless that is set otherwise. */
const silentWithinMs = 60_000;

/** Takes a machine that joined out of the cluster for good: its keys no longer open anything, its Node goes. */
export async function forget(node: string): Promise<void> {
  const home = new Home();
  const state = home.state();
  const runs = state !== undefined && alive(state.supervisor) && state.phase !== 'stopped';
  // While it starts NATS may have the keys already, and nobody to tell that they are gone.
  if (runs && state.phase !== 'ready') throw new UserError('Roundsman is starting', 'Run the command again when it is up.');
  if (state === undefined || !removeMember(home, node)) throw new UserError(`no machine has joined as ${node}`, 'kubectl get nodes shows the nodes; those that npx roundsman up made itself are not forgotten.');
  if (runs) {
    signal(state.supervisor, 'SIGUSR2');
    const client = new GatewayClient(state.gateway, home.token(() => ''));
    await silence(client, node);
    const gone = await removeNode(client, node);
    process.stdout.write(`${node} is no longer let in${gone ? ', and its Node is removed' : ''}. Containers that still run there end with: npx roundsman down --purge, on that machine.\n`);
    return;
  }
  process.stdout.write(`${node} will not be let in when the cluster is started again.\n`);
}

/** A node that is still heard would be registered again. */
async function silence(client: GatewayClient, node: string): Promise<void> {
  const deadline = Date.now() + silentWithinMs;
  for (let told = false; (await readyOf(client, node)) === 'True'; told = true) {
    if (Date.now() > deadline) throw new UserError(`${node} is still heard after ${silentWithinMs / 1000} s, so its Node stays`, 'logs/roundsman.log of the home says whether NATS took the change; then: kubectl delete node.');
    if (!told) process.stderr.write(`Waiting until ${node} is silent ...\n`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
