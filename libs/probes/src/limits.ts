import { readFileSync } from 'node:fs';
import type { RequestBudget } from '@roundsman/api';

/** How much one target may take of the runner. */
export interface Limits {
  /** Open connections (TCP, TLS) to one target. */
  connections: number;
  /** Exchanges under way to one target where one connection carries several (HTTP/2, DNS). */
  inFlight: number;
}

/** What a whole round may hold open, divided among its targets; fewer where the process may open fewer files. */
const roundConnections = 8192;
/** What a whole round may have under way where one connection carries several exchanges. */
const roundInFlight = 65_536;
/** The least any target gets, however many there are. */
const fewest: Limits = { connections: 4, inFlight: 64 };
/** Requests that a stall of the prober held up leave together: this much of the schedule on top of what is steadily under way. */
const stallMs = 250;

/**
 * What one of a round's targets may take. No request is under way for longer than its timeout, so `qps * timeout` is all
 * that a target can need, however slow it is; where the runner cannot give that, requests may wait and `Recorder` says so.
 */
export function limitsFor(budget: RequestBudget, targets: number, openFiles = openFilesLimit()): Limits {
  const needed = Math.ceil((budget.qps * (budget.timeoutMs + stallMs)) / 1000) + 1;
  const share = (most: number, least: number): number => Math.max(least, Math.min(needed, Math.floor(most / Math.max(1, targets))));
  // Half of the files: other rounds, the echo target and the process itself need some, too.
  return { connections: share(Math.min(roundConnections, openFiles / 2), fewest.connections), inFlight: share(roundInFlight, fewest.inFlight) };
}

/** Files that this process may have open; a low guess where the kernel does not tell. */
function openFilesLimit(): number {
  try {
    const soft = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft ?? 1024);
  } catch {
    return 1024;
  }
}
