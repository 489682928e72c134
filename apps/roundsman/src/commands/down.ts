import { existsSync } from 'node:fs';
import { dockerCommands } from '../docker-commands.ts';
import { Home } from '../home.ts';
import { removeHosts } from '../hosts-file.ts';
import { endLeftovers } from '../leftovers.ts';
import { holderOf, releaseHome, takeHome } from '../lock.ts';
import { removePodNetwork } from '../network/leave.ts';
import { clusterOf, endPods } from '../pods.ts';
import { alive, end } from '../processes.ts';
import { removeServiceRules } from '../service-rules.ts';
import { UserError } from '../user-error.ts';

/** Longer than the supervisor's own bound: it stops services, then NATS and Postgres. */
const stopWithinMs = 30_000;

export async function down(options: { readonly purge?: boolean; readonly keepPods?: boolean }): Promise<void> {
  const home = new Home();
  if (!existsSync(home.path)) return say(`Nothing to stop: there is no ${home.path}.`);
  if (!home.ours) throw new UserError(`${home.path} is not a home of Roundsman`, 'Set ROUNDSMAN_HOME to the one you mean.');
  const holder = holderOf(home);
  const ran = holder !== undefined && alive(holder);
  if (ran) await end([holder], 'SIGTERM', stopWithinMs);
  const taken = takeHome(home);
  if (taken) throw new UserError(`process ${taken.pid} has just taken ${home.path}`, 'Run the command again in a moment.');
  try {
    const left = await endLeftovers(home);
    const state = home.state();
    if (state && (state.phase !== 'stopped' || left.length > 0)) home.saveState({ ...state, phase: 'stopped', processes: [] });
    const pods = options.keepPods ? { found: 0, mounted: [] } : await endPods(home);
    const commands = state?.docker === undefined ? undefined : dockerCommands(state.docker);
    if (pods.problem !== undefined) process.stderr.write(`roundsman: pods may be left: ${pods.problem}${commands === undefined ? '' : `\nTheir containers end with: ${commands.endPods(clusterOf(home))}`}\n`);
    if (pods.mounted.length > 0) process.stderr.write(`roundsman: volumes of pods are left mounted\nAs root they go with: umount -l ${pods.mounted.join(' ')}\n`);
    const hosts = options.keepPods ? undefined : await removeHosts(home);
    if (hosts !== undefined) process.stderr.write(`roundsman: hosts of this cluster are left in ${hosts}\nTake the lines between "# BEGIN roundsman ${clusterOf(home)}" and its end out by hand.\n`);
    const rules = options.keepPods ? undefined : await removeServiceRules(home);
    if (rules !== undefined) process.stderr.write(`roundsman: rules of Services are left on this machine: ${rules}\nAs root they go with: nft delete table inet roundsman-${clusterOf(home)}\n`);
    const network = options.keepPods ? undefined : await removePodNetwork(home);
    if (network !== undefined) process.stderr.write(`roundsman: something of the pod network is left on this machine: ${network}\n`);
    const images = options.purge && commands !== undefined ? ` Images stay in Docker; those that nothing uses go with: ${commands.removeImages}` : '';
    if (options.purge) home.purge();
    const ended = ran ? 'Stopped.' : left.length > 0 ? `Ended ${left.length} processes that were left behind.` : 'It did not run.';
    say(`${ended}${pods.found === 0 ? '' : ` Ended ${pods.found} pod${pods.found === 1 ? '' : 's'}.`}${options.keepPods === true && state?.docker !== undefined ? ' Pods go on, with their network; up takes them over again.' : ''}${options.purge ? ` Removed ${home.path}.` : ''}${images}`);
  } finally {
    releaseHome(home);
  }
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
