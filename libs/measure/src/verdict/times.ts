import type { RoundFinding } from '@roundsman/api';
import type { Observation, RunnerOutcome } from './observation.ts';

/** Clocks of nodes differ, and busy runners begin late, by less than this, milliseconds. */
const sameTimeMs = 5_000;
/** Who shares less of the time than this with the others measured at another one. */
const shared = 0.5;

/** Of runners that measured at another time than most others (their work, or the link to them, was late), by their node: in words that end a finding. */
export function otherTimes(runners: readonly RunnerOutcome[]): Map<string, string> {
  const measured = runners.flatMap(({ node, targets, startedAt, endedAt }) => (targets.length === 0 || startedAt === undefined || endedAt === undefined ? [] : [{ node, from: Date.parse(startedAt), to: Date.parse(endedAt) }]));
  const start = lowerMedian(measured.map(({ from }) => from));
  const end = lowerMedian(measured.map(({ to }) => to));
  const words = new Map<string, string>();
  if (start === undefined || end === undefined) return words;
  for (const { node, from, to } of measured) {
    const apartMs = from - start;
    const both = Math.min(to, end) - Math.max(from, start);
    if (Math.abs(apartMs) <= sameTimeMs || both >= Math.min(to - from, end - start) * shared) continue;
    words.set(node, `The runner of ${node} began ${Math.round(Math.abs(apartMs) / 1_000)} s ${apartMs > 0 ? 'after' : 'before'} the others: what it measured is of another time.`);
  }
  return words;
}

/** Of two the earlier one. */
const lowerMedian = (times: readonly number[]): number | undefined => times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) / 2)];

/** Without what succeeded at another time at targets that were down for all the others: it neither clears them, nor tells where the fault lies. */
export function ofOneTime(observations: readonly Observation[], others: ReadonlyMap<string, string>): Observation[] {
  if (others.size === 0) return [...observations];
  const then = Map.groupBy(observations.filter(({ from }) => !others.has(from)), ({ result }) => result.target);
  const wasDown = (target: string): boolean => then.get(target)?.every(({ health }) => health === 'down') ?? false;
  return observations.filter(({ from, health, result }) => !others.has(from) || health === 'down' || !wasDown(result.target));
}

/** The finding with the words on the nodes that its subject names. */
export function withTimes(finding: RoundFinding, others: ReadonlyMap<string, string>): RoundFinding {
  const named = finding.subject.split(' ');
  const words = [...others].filter(([node]) => named.includes(node)).map(([, said]) => said);
  return words.length === 0 ? finding : { ...finding, message: [finding.message, ...words].join(' ') };
}
