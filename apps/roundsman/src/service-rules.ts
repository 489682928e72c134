import type { Home } from './home.ts';
import { clusterOf } from './pods.ts';

/** Takes the rules of Services, their addresses and forwarders off this machine; why that did not work. They are made again when the home is started again. */
export async function removeServiceRules(home: Home): Promise<string | undefined> {
  const { removeForwarding } = await import('@roundsman/node-agent');
  const folders = (home.state()?.nodes ?? []).map((node) => home.file('data', 'runners', node));
  return removeForwarding(clusterOf(home), folders).then(() => undefined, (error: Error) => error.message);
}
