import { ageColumn, column, humanDuration, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Column } from '../kind.ts';
import type { KubeObject } from '../meta.ts';

/** The schedule in the words of its form: `0 60`, `every 30s`, `once`. */
function scheduleText(task: KubeObject): string {
  const schedule = valueAt(task, 'spec', 'schedule');
  const text = textAt(schedule, 'schedule');
  if (text !== undefined) return text;
  const seconds = numberAt(schedule, 'intervalSeconds');
  return seconds === undefined ? 'once' : `every ${humanDuration(seconds * 1000)}`;
}

/** `2/5`, `17/-` for a task that runs for ever. */
function roundsText(task: KubeObject): string {
  const expected = numberAt(task, 'status', 'expectedRound') ?? numberAt(task, 'spec', 'schedule', 'roundNumber') ?? 1;
  return `${numberAt(task, 'status', 'doneRound') ?? 0}/${expected === -1 ? '-' : expected}`;
}

function nextText(task: KubeObject, now: number): string | null {
  if (valueAt(task, 'status', 'history', 0, 'status') === 'ongoing') return 'running';
  if (valueAt(task, 'status', 'finish') === true) return null;
  if (valueAt(task, 'spec', 'suspend') === true) return 'suspended';
  const next = Date.parse(textAt(task, 'status', 'nextRoundTime') ?? '');
  if (Number.isNaN(next)) return null;
  return next <= now ? 'now' : `in ${humanDuration(next - now)}`;
}

function nodesText(task: KubeObject): string | null {
  const history = valueAt(task, 'status', 'history');
  const closed = Array.isArray(history) ? history.find((round) => !['ongoing', 'notstarted'].includes(textAt(round, 'status') ?? '')) : undefined;
  if (closed === undefined) return null;
  const count = (member: string): number => (valueAt(closed, member) as unknown[] | undefined)?.length ?? 0;
  return `${count('succeedAgentNodeList')}/${count('failedAgentNodeList')}/${count('notReportAgentNodeList')}`;
}

/** What the last closed round says; before there is one, what keeps it from beginning. */
function reasonText(task: KubeObject): string | null {
  const history = valueAt(task, 'status', 'history');
  const closed = Array.isArray(history) ? history.find((round) => !['ongoing', 'notstarted'].includes(textAt(round, 'status') ?? '')) : undefined;
  if (closed !== undefined) return textAt(closed, 'failureReason') ?? null;
  const conditions = valueAt(task, 'status', 'conditions');
  const failing = (type: string): unknown => (Array.isArray(conditions) ? conditions.find((one) => textAt(one, 'type') === type && textAt(one, 'status') === 'False') : undefined);
  const scheduled = failing('Scheduled');
  // That it is suspended or done is no problem.
  const waits = /^(WaitingFor|InvalidSchedule)/.test(textAt(scheduled, 'reason') ?? '') ? scheduled : undefined;
  return [failing('RuntimeReady'), failing('TargetsFound'), waits].map((condition) => textAt(condition, 'message')).find((message) => message !== undefined) ?? null;
}

/** `daemonset/probe-runner`. */
function runtimeText(task: KubeObject): string | null {
  const resource = valueAt(task, 'status', 'resource');
  const name = textAt(resource, 'runtimeName');
  return name === undefined ? null : `${(textAt(resource, 'runtimeType') ?? '').toLowerCase()}/${name}`;
}

/** Columns of every task kind. */
export const taskColumns: readonly Column[] = [
  nameColumn,
  column('Schedule', 'string', 'When rounds start', scheduleText),
  column('Rounds', 'string', 'Rounds done and rounds to do; - when it runs for ever', roundsText),
  column('Last Result', 'string', 'How the last round ended', (task) => textAt(task, 'status', 'lastRoundStatus') ?? null),
  column('Next', 'string', 'When the next round starts', nextText),
  ageColumn,
  column('Finished', 'boolean', 'Whether all rounds are done', (task) => valueAt(task, 'status', 'finish') === true, { wide: true }),
  column('Nodes', 'string', 'Nodes of the last closed round: succeeded/failed/silent', nodesText, { wide: true }),
  column('Problem', 'string', 'What was broken in the last closed round; before there is one, what it waits for', reasonText, { wide: true }),
  column('Runtime', 'string', 'Workload that carries the task', runtimeText, { wide: true }),
];
