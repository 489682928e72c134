import { readFile } from 'node:fs/promises';
import { isLoopback } from '../network/addresses/loopback.ts';
import { parseResolvConf } from './resolv-conf.ts';

const path = '/etc/resolv.conf';
/** Where systemd-resolved tells the servers that it asks itself: it is reached on loopback only, which is another one in every pod. */
const behindResolved = '/run/systemd/resolve/resolv.conf';

/** The machine's resolv.conf, as its own programs use it; empty when it has none. */
export const machineResolvConf = (): Promise<string> => textOf(path);

/** The same as pods can use it. */
export async function resolvConfForPods(): Promise<string> {
  const text = await textOf(path);
  const { servers } = parseResolvConf(text);
  if (!servers.some(isLoopback)) return text;
  const behind = await textOf(behindResolved);
  return behind === '' ? text : behind;
}

const textOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');
