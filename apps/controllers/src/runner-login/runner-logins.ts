import type { Runtime } from '@roundsman/api';
import { answerLogins, loadSeed, type Bus, type Login, type Subscription } from '@roundsman/bus';
import type { Informer } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import { decideLogin } from './decide.ts';

/** The same refusal is told again after so long: whoever is refused tries again every few hundred milliseconds. */
const tellEveryMs = 60_000;
/** Names come from outside, from anybody who reaches NATS: no more refusals than so many are told one by one in that time, the others are counted. */
const mostTold = 100;
const longestName = 253;

/** Tells each refusal once in a while; those that are too many by their number alone. */
export function refusals(log: Logger): (login: Login, why: string, nowMs: number) => void {
  const told = new Set<string>();
  let [sinceMs, untold] = [-Infinity, 0];
  return ({ user, host }, why, nowMs) => {
    if (nowMs - sinceMs >= tellEveryMs) {
      if (untold > 0) log.warn({ refused: untold }, 'more log-ins to NATS were refused than are told one by one');
      told.clear();
      [sinceMs, untold] = [nowMs, 0];
    }
    const runner = user.slice(0, longestName);
    const key = `${runner} ${why}`;
    if (told.has(key)) return;
    if (told.size >= mostTold) {
      untold += 1;
      return;
    }
    told.add(key);
    log.warn({ runner, host, why }, 'a log-in to NATS is refused');
  };
}

/** Answers NATS about runners in pods, from the cache: every instance does, whoever leads. Until stopped. Throws when the file holds no seed. */
export async function answerRunnerLogins(bus: Bus, seedFile: string, runtimes: Pick<Informer<Runtime>, 'list'>, log: Logger): Promise<Subscription> {
  const { seed } = await loadSeed(seedFile);
  const refused = refusals(log);
  return answerLogins(bus, { issuerSeed: seed }, (login) => {
    const decision = decideLogin(login, runtimes.list());
    if ('refused' in decision) refused(login, decision.refused, Date.now());
    return decision;
  });
}
