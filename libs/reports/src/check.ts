import { cutCauses, layers, phaseNames, probeErrorCodes, taskKinds } from '@roundsman/api';

/**
 * What is wrong with a result message, with the path of the member; undefined when it can be stored. Says the same as
 * `roundResultSchema` about everything the tables hold, at a fraction of its cost: every result of every runner comes by here.
 */
export function resultProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'is not an object';
  // Subjects and object names are made of these.
  for (const key of ['runner', 'node', 'namespace', 'task'] as const) {
    if (!isKubernetesName(value[key])) return `${key} is not a Kubernetes name`;
  }
  if (!isUid(value['taskUid'])) return 'taskUid is not a UID';
  if (!kinds.has(value['kind'] as string)) return 'kind is not a task kind';
  if (!isCount(value['round']) || value['round'] === 0) return 'round is not a positive integer';
  if (!isTime(value['roundStart'])) return 'roundStart is not a time';
  if (!isCount(value['part']) || !isCount(value['parts']) || value['part'] < 1 || value['part'] > value['parts']) return 'part is not between 1 and parts';
  const targets = value['targets'];
  if (!Array.isArray(targets)) return 'targets is not a list';
  for (let i = 0; i < targets.length; i++) {
    const problem = targetProblem(targets[i]);
    if (problem !== undefined) return `targets[${i}].${problem}`;
  }
  return value['outcome'] === undefined ? undefined : outcomeProblem(value['outcome']);
}

type Bag = Record<string, unknown>;
const kinds = new Set<string>(taskKinds);
const layerSet = new Set<string>(layers);
const codeSet = new Set<string>(probeErrorCodes);
const phaseSet = new Set<string>(phaseNames);
const outcomeStates = new Set<unknown>(['ok', 'failed', 'canceled', 'error']);
const cuts = new Set<unknown>([undefined, ...cutCauses]);
const codeWord = /^[\w-]{1,64}$/;
/** The range of a Postgres integer. */
const maxInt = 2_147_483_647;

function targetProblem(target: unknown): string | undefined {
  if (!isObject(target)) return ' is not an object';
  if (!isName(target['target'])) return 'target is not a name';
  if (!layerSet.has(target['layer'] as string)) return 'layer is unknown';
  if (typeof target['address'] !== 'string') return 'address is not a string';
  if (typeof target['method'] !== 'string') return 'method is not a string';
  if (!isOptionalString(target['targetNode'])) return 'targetNode is not a string';
  if (target['family'] !== undefined && target['family'] !== 'v4' && target['family'] !== 'v6') return 'family is not v4 or v6';
  if (target['interface'] !== undefined && !isName(target['interface'])) return 'interface is not a name';
  if (!isTime(target['startedAt'])) return 'startedAt is not a time';
  if (!isTime(target['endedAt'])) return 'endedAt is not a time';
  const { planned, sent, unsent, succeeded, failed, bytes } = target;
  if (!isCount(planned) || !isCount(sent) || !isCount(unsent) || !isCount(succeeded) || !isCount(failed)) return 'planned, sent, unsent, succeeded and failed are not all counts';
  if (planned !== sent + unsent) return 'planned is not sent + unsent';
  if (sent !== succeeded + failed) return 'sent is not succeeded + failed';
  if (!isMeasure(bytes)) return 'bytes is not a number';
  if (typeof target['ok'] !== 'boolean') return 'ok is not a boolean';
  if (!isOptionalString(target['reason'])) return 'reason is not a string';
  return (
    distributionProblem('latency', target['latency']) ??
    distributionProblem('sendLag', target['sendLag']) ??
    countsProblem('errors', target['errors'], (key) => codeSet.has(key)) ??
    countsProblem('statusCodes', target['statusCodes'], (key) => codeWord.test(key)) ??
    countsProblem('replyCodes', target['replyCodes'], (key) => codeWord.test(key)) ??
    phasesProblem(target['phases']) ??
    failuresProblem(target['failures'])
  );
}

function distributionProblem(name: string, value: unknown): string | undefined {
  if (!isObject(value)) return `${name} is not an object`;
  if (!isCount(value['count']) || !isMeasure(value['sumUs']) || !isMeasure(value['minUs']) || !isMeasure(value['maxUs'])) return `${name} has a bad count, sum, minimum or maximum`;
  const histogram = value['histogram'];
  if (!isObject(histogram)) return `${name}.histogram is not an object`;
  const { b, c } = histogram;
  if (!Array.isArray(b) || !Array.isArray(c) || b.length !== c.length) return `${name}.histogram is not two lists of the same length`;
  let last = -1;
  for (let i = 0; i < b.length; i++) {
    const bucket: unknown = b[i];
    if (!isCount(bucket) || bucket <= last || bucket > 2000) return `${name}.histogram.b is not ascending within 0..2000`;
    last = bucket;
    if (!isCount(c[i])) return `${name}.histogram.c is not all counts`;
  }
  return undefined;
}

function countsProblem(name: string, value: unknown, isKey: (key: string) => boolean): string | undefined {
  if (!isObject(value)) return `${name} is not an object`;
  for (const key in value) {
    if (!isKey(key)) return `${name} has an unknown key`;
    if (!isCount(value[key])) return `${name}.${key} is not a count`;
  }
  return undefined;
}

function phasesProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'phases is not an object';
  for (const key in value) {
    const phase = value[key];
    if (!phaseSet.has(key) || !isObject(phase)) return 'phases has an unknown key';
    if (!isCount(phase['count']) || !isMeasure(phase['sumUs']) || !isMeasure(phase['maxUs'])) return `phases.${key} has a bad count, sum or maximum`;
  }
  return undefined;
}

function failuresProblem(value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'failures is not a list';
  for (const failure of value as unknown[]) {
    if (!isObject(failure) || !isTime(failure['at']) || !codeSet.has(failure['code'] as string) || typeof failure['message'] !== 'string' || !isMeasure(failure['latencyUs'])) {
      return 'failures has a bad entry';
    }
  }
  return undefined;
}

function outcomeProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'outcome is not an object';
  if (!outcomeStates.has(value['state'])) return 'outcome.state is not ok, failed, canceled or error';
  if (!isOptionalString(value['reason'])) return 'outcome.reason is not a string';
  if (!cuts.has(value['cut'])) return 'outcome.cut is unknown';
  if (!isTime(value['startedAt']) || !isTime(value['endedAt'])) return 'outcome has a bad time';
  if (!isCount(value['targetCount'])) return 'outcome.targetCount is not a count';
  const starvation = value['starvation'];
  if (!isObject(starvation) || typeof starvation['suspect'] !== 'boolean' || !Array.isArray(starvation['reasons'])) return 'outcome.starvation is incomplete';
  if (!isObject(value['runningLoad'])) return 'outcome.runningLoad is not an object';
  return undefined;
}

function isObject(value: unknown): value is Bag {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0 && value.length <= 512 && !value.includes('\0');
}
const kubernetesName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
function isKubernetesName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= 253 && kubernetesName.test(value);
}
const uid = /^[A-Za-z0-9][-.A-Za-z0-9]{0,252}$/;
function isUid(value: unknown): value is string {
  return typeof value === 'string' && uid.test(value);
}
function isOptionalString(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}
function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= maxInt;
}
function isMeasure(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
/** Years a timestamp column and a person can make sense of. */
function isTime(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > 40) return false;
  const ms = Date.parse(value);
  return ms > 0 && ms < 32_503_680_000_000;
}
