import { accessSync, constants } from 'node:fs';
import { clusterOf } from './pods.ts';
import type { Home } from './home.ts';
import { UserError } from './user-error.ts';

/** The setting of the agents; also what a process in the background is told by. */
const setting = 'ROUNDSMAN_NODE_AGENT_HOSTS_FILE';
const usual = '/etc/hosts';

/** `--write-hosts`: hosts of DNS objects and Ingresses are told to programs of this machine, too. Throws UserError when its hosts file cannot be written. */
export function writeHosts(): void {
  const file = process.env[setting] || usual;
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    throw new UserError(`--write-hosts: ${file} cannot be written: ${(error as Error).message}`, 'It belongs to root: start Roundsman as root, or leave the flag out (pods know these names all the same).', { cause: error, exitCode: 2 });
  }
  process.env[setting] = file;
}

/** Takes the cluster out of this machine's hosts file, when it is in it; why that did not work. */
export async function removeHosts(home: Home): Promise<string | undefined> {
  const { removeFromHosts } = await import('@roundsman/node-agent');
  const files = new Set([usual, process.env[setting] || usual]);
  const failed = await Promise.all([...files].map((file) => removeFromHosts(file, clusterOf(home)).then(() => undefined, (error: Error) => `${file}: ${error.message}`)));
  return failed.find((problem) => problem !== undefined);
}
