import { goDurationMs } from '../cron-schedule.ts';

/** The fields of a cron schedule, with their bounds and the names that may stand for numbers. */
const fields = [
  { lowest: 0, highest: 59, names: [] },
  { lowest: 0, highest: 23, names: [] },
  { lowest: 1, highest: 31, names: [] },
  { lowest: 1, highest: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] },
  { lowest: 0, highest: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
] as const;
type Bounds = (typeof fields)[number];

const macros = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** What is wrong with a CronJob's schedule, in the words of the parser that Kubernetes uses; undefined when nothing. */
export function cronProblem(schedule: string): string | undefined {
  const spec = schedule.replace(/^(TZ|CRON_TZ)=\S+\s+/, '').trim();
  if (schedule === '') return 'empty spec string';
  if (spec.startsWith('@')) return macroProblem(spec);
  const parts = spec === '' ? [] : spec.split(/\s+/);
  if (parts.length !== fields.length) return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [index, part] of parts.entries()) {
    for (const expression of part.split(',').filter((one) => one !== '')) {
      const problem = rangeProblem(expression, fields[index]!);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function macroProblem(descriptor: string): string | undefined {
  if (macros.includes(descriptor)) return undefined;
  if (!descriptor.startsWith('@every ')) return `unrecognized descriptor: ${descriptor}`;
  const duration = descriptor.slice('@every '.length);
  const ms = goDurationMs(duration);
  if (ms === undefined) return `failed to parse duration ${descriptor}: time: invalid duration ${JSON.stringify(duration)}`;
  // Kubernetes takes it for a second, which nobody means.
  return ms > 0 ? undefined : `must be a positive duration, such as @every 1h30m: ${descriptor}`;
}

/** `*`, `?`, `n`, `n-m`, each with `/step`. */
function rangeProblem(expression: string, bounds: Bounds): string | undefined {
  const [range = '', step, ...moreSteps] = expression.split('/');
  const [low = '', high, ...moreHyphens] = range.split('-');
  if (moreHyphens.length > 0) return `too many hyphens: ${expression}`;
  let [start, end]: [number, number] = [bounds.lowest, bounds.highest];
  if (low !== '*' && low !== '?') {
    const from = numberIn(low, bounds);
    if (typeof from === 'string') return from;
    const to = high === undefined ? (step === undefined ? from : bounds.highest) : numberIn(high, bounds);
    if (typeof to === 'string') return to;
    [start, end] = [from, to];
  }
  if (moreSteps.length > 0) return `too many slashes: ${expression}`;
  const every = step === undefined ? 1 : wholeNumber(step);
  if (typeof every === 'string') return every;
  if (start < bounds.lowest) return `beginning of range (${start}) below minimum (${bounds.lowest}): ${expression}`;
  if (end > bounds.highest) return `end of range (${end}) above maximum (${bounds.highest}): ${expression}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${expression}`;
  return every === 0 ? `step of range should be a positive number: ${expression}` : undefined;
}

function numberIn(text: string, { names, lowest }: Bounds): number | string {
  const index = (names as readonly string[]).indexOf(text.toLowerCase());
  return index >= 0 ? index + lowest : wholeNumber(text);
}

/** The number, or what is wrong. */
function wholeNumber(text: string): number | string {
  if (!/^[-+]?\d+$/.test(text)) return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  return Number(text) < 0 ? `negative number (${Number(text)}) not allowed: ${text}` : Number(text);
}
