import type { Runtime } from '@roundsman/api';
import { answerLogins, loadSeed, type Bus, type Login, type Subscription } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import { decideLogin } from './decide.ts';

/** The same refusal is told again after so long: whoever is refused tries again every few hundred milliseconds. */
const tellEveryMs = 60_000;
/** Names come from outside: no more than so many are remembered. */
const mostRemembered = 1_000;

/** Answers NATS about runners in pods, from the cache: every instance does, whoever leads. Until stopped. Throws when the file holds no seed. */
export async function answerRunnerLogins(bus: Bus, seedFile: string, runtimes: Pick<Informer<Runtime>, 'list'>, log: Logger): Promise<Subscription> {
  const { seed } = await loadSeed(seedFile);
  const told = new Map<string, number>();
  const refused = ({ user, host }: Login, why: string): void => {
    const key = `${user} ${why}`;
    const now = Date.now();
    if (now - (told.get(key) ?? -Infinity) < tellEveryMs) return;
    if (told.size >= mostRemembered) told.clear();
    told.set(key, now);
    log.warn({ runner: user, host, why }, 'a log-in to NATS is refused');
  };
  return answerLogins(bus, { issuerSeed: seed }, (login) => {
    const decision = decideLogin(login, runtimes.list());
    if ('refused' in decision) refused(login, decision.refused);
    return decision;
  });
}
