import { isPodReady, isPodTerminating, podConditionOf, type ContainerStatus, type Node, type Pod } from '@roundsman/api';
import { readyOf } from './nodes.ts';

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

/** undefined: it is being started, or it is ready. */
function containerWords({ state, lastState, ready, restartCount }: ContainerStatus): string | undefined {
  const { waiting, terminated, running } = state;
  if (waiting !== undefined && waiting.reason !== undefined && waiting.reason !== 'ContainerCreating' && waiting.reason !== 'PodInitializing') {
    const before = lastState.terminated;
    const last = before === undefined ? undefined : `the last one ended with exit code ${before.exitCode}${before.reason === undefined || before.reason === 'Error' ? '' : ` (${before.reason})`}${lastWords(before.message)}`;
    return said(waiting.reason, last ?? waiting.message);
  }
  if (terminated !== undefined) return shortened(`its container ended with exit code ${terminated.exitCode}${lastWords(terminated.message)}`);
  if (running !== undefined && !ready) {
    const before = lastState.terminated;
    return before === undefined || restartCount === 0 ? 'its container runs but is not ready yet' : shortened(`its container was started ${restartCount} times again, the last one ended with exit code ${before.exitCode}${lastWords(before.message)}`);
  }
  return undefined;
}

/** Of a message of many lines the last one says why. */
function lastWords(message: string | undefined): string {
  const last = message?.trim().split('\n').at(-1)?.trim() ?? '';
  return last === '' ? '' : `: ${last}`;
}

function endedWords(statuses: readonly ContainerStatus[] | undefined): string | undefined {
  const ended = statuses?.find(({ state }) => state.terminated !== undefined)?.state.terminated;
  return ended === undefined ? undefined : `exit code ${ended.exitCode}${lastWords(ended.message)}`;
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
