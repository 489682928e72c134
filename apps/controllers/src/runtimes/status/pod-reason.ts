import { constants } from 'node:os';
import { isPodReady, isPodTerminating, podConditionOf, type ContainerStatus, type Node, type Pod, type RuntimeRunner } from '@roundsman/api';
import { readyOf } from './nodes.ts';

const { signals } = constants;
const wordsKept = 300;
const shortened = (text: string): string => (text.length > wordsKept ? `${text.slice(0, wordsKept - 1)}…` : text);
const said = (reason: string | undefined, message: string | undefined): string => shortened([reason, message?.trim()].filter((part) => part !== undefined && part !== '').join(': '));

/** Of a pod that is being deleted. */
export const terminating = 'its pod is terminating';

/** Why the runner in this pod cannot be counted on, in the cluster's own words; undefined when it is ready. `node`: the one it is on. */
export function reasonNotReady(pod: Pod, node: Node | undefined): string | undefined {
  const { metadata, spec, status } = pod;
  if (isPodTerminating(pod)) return terminating;
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') return said(`its pod has ended (${status.phase})`, said(status.reason, status.message ?? endedWords(status.containerStatuses)));
  const nodeName = spec.nodeName ?? '';
  if (nodeName === '') {
    const scheduled = podConditionOf(pod, 'PodScheduled');
    return scheduled?.status === 'False' ? said(scheduled.reason, scheduled.message) : 'its pod waits for a node';
  }
  if (node === undefined) return `node ${nodeName} is not there any more`;
  const nodeReady = readyOf(node);
  if (nodeReady?.status !== 'True') return said(`node ${nodeName} is not ready`, nodeReady?.message);
  if (isPodReady(pod)) return undefined;
  for (const container of status?.containerStatuses ?? []) {
    const why = containerWords(container);
    if (why !== undefined) return why;
  }
  return status?.phase === 'Running' ? said('its pod is not ready', podConditionOf(pod, 'Ready')?.message) : `pod ${metadata.name} is being started`;
}

/** When and how a container of this pod ended last; undefined when none has, or nobody knows when. */
export function lastEndOf({ status }: Pod): RuntimeRunner['ended'] {
  const ends = (status?.containerStatuses ?? []).flatMap(({ state, lastState }) => [state.terminated ?? [], lastState.terminated ?? []].flat());
  const known = ends.flatMap((end) => {
    const at = timeOf(end);
    return at === undefined ? [] : [{ at, reason: shortened(endOf(end)) }];
  });
  return known.sort((a, b) => Date.parse(b.at) - Date.parse(a.at))[0];
}

/** Kubernetes sends null where the container was gone before anybody saw its end (ContainerStatusUnknown). */
const timeOf = ({ finishedAt }: { readonly finishedAt?: string | null | undefined }): string | undefined => finishedAt ?? undefined;

/** undefined: it is being started, or it is ready. */
function containerWords({ state, lastState, ready, restartCount }: ContainerStatus): string | undefined {
  const { waiting, terminated, running } = state;
  const before = lastState.terminated;
  if (waiting !== undefined && waiting.reason !== undefined && waiting.reason !== 'ContainerCreating' && waiting.reason !== 'PodInitializing') {
    return said(waiting.reason, before === undefined ? waiting.message : `the last one ended with ${endOf(before)}`);
  }
  if (terminated !== undefined) return shortened(`its container ended with ${endOf(terminated)}`);
  if (running === undefined || ready) return undefined;
  const now = `its container runs${running.startedAt === undefined ? '' : ` since ${running.startedAt}`}, but its readiness probe does not succeed`;
  if (before === undefined || restartCount === 0) return now;
  // What was before is no reason of now; when it was says how much it has to do with it.
  const at = timeOf(before);
  return shortened(`${now}. It was started again ${restartCount === 1 ? 'once' : `${restartCount} times`}; the one before ended${at === undefined ? '' : ` at ${at}`} with ${endOf(before)}`);
}

/** "exit code 137 (SIGKILL)", or with what it said last, if that was why. */
function endOf({ exitCode, reason, message }: Pick<NonNullable<ContainerStatus['state']['terminated']>, 'exitCode' | 'reason' | 'message'>): string {
  const signal = reason === undefined || reason === 'Error' || reason === 'Completed' ? signalOf(exitCode) : undefined;
  const named = signal ?? (reason === 'Error' || reason === 'Completed' ? undefined : reason);
  // Who is killed cannot say why: its last line is about something else. Only by SIGABRT a program ends itself, and says why before.
  const killed = reason === 'OOMKilled' || (signal !== undefined && signal !== 'SIGABRT');
  return `exit code ${exitCode}${named === undefined ? '' : ` (${named})`}${killed ? '' : lastWords(message)}`;
}

/** A shell's convention, which Docker and Kubernetes follow: 128 and the number of the signal. */
const signalOf = (exitCode: number): string | undefined => Object.entries(signals).find(([, number]) => exitCode === 128 + number)?.[0];

/** Levels of log lines (pino): from here on they tell of errors. */
const errorLevel = 50;

/** Of a message of many lines the last one says why. Of log lines (JSON) only one that tells of an error does: the others tell of what went well. */
function lastWords(message: string | undefined): string {
  const last = message?.trim().split('\n').at(-1)?.trim() ?? '';
  const words = last.startsWith('{') ? errorIn(last) : last;
  return words === '' ? '' : `: ${words}`;
}

function errorIn(line: string): string {
  try {
    const { level, msg, err } = JSON.parse(line) as { level?: unknown; msg?: unknown; err?: { message?: unknown } };
    if (typeof level !== 'number' || level < errorLevel) return '';
    return [msg, err?.message].filter((part) => typeof part === 'string' && part !== '').join(': ');
  } catch {
    // Cut off: it is no sentence.
    return '';
  }
}

function endedWords(statuses: readonly ContainerStatus[] | undefined): string | undefined {
  const ended = statuses?.find(({ state }) => state.terminated !== undefined)?.state.terminated;
  return ended === undefined ? undefined : endOf(ended);
}

/** The node a pod is on or, of a DaemonSet's that is not placed yet, made for. */
export function nodeNameOf({ spec }: Pod): string {
  if (spec.nodeName !== undefined && spec.nodeName !== '') return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields } of terms) {
    const named = matchFields?.find(({ key, operator, values }) => key === 'metadata.name' && operator === 'In' && values?.length === 1);
    if (named?.values?.[0] !== undefined) return named.values[0];
  }
  return '';
}
