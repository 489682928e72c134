import type { Home, RecordedProcess } from './home.ts';
import { alive, end, ours } from './processes.ts';

/** Processes that a killed supervisor left behind, as far as they are still the recorded ones and of this user. */
export const leftovers = (home: Home): RecordedProcess[] => (home.state()?.processes ?? []).filter((one) => alive(one) && ours(one));

/** Ends them: runners first, then what they talk to. Returns those that ran. */
export async function endLeftovers(home: Home): Promise<RecordedProcess[]> {
  const left = leftovers(home);
  const of = (name: string): RecordedProcess[] => left.filter((one) => one.name === name);
  const servers = new Set(['nats', 'postgres']);
  await end(left.filter(({ name }) => !servers.has(name)), 'SIGTERM', 5_000);
  await end(of('nats'), 'SIGTERM', 5_000);
  await end(of('postgres'), 'SIGINT', 10_000);
  return left;
}
