import type { Runtime } from '@roundsman/api';
import type { RunnerEnd } from '@roundsman/reports';

/** The runners in pods of whose containers one ended since then, and how: out of memory, by a signal, by itself. */
export function containerEndsSince(runtimes: readonly Runtime[], ms: number): Map<string, RunnerEnd> {
  const ends = new Map<string, RunnerEnd>();
  for (const { status } of runtimes) {
    for (const { runner, ended } of status?.runners ?? []) {
      if (ended !== undefined && Date.parse(ended.at) >= ms) ends.set(runner, { at: new Date(ended.at), words: `its container ended at ${ended.at} with ${ended.reason}` });
    }
  }
  return ends;
}
