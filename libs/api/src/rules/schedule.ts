import type { Schedule } from '../kinds/spec.ts';
import { intervalMs, roundMarginMs, roundTimeoutMs, ScheduleError } from '../schedule.ts';
import { forbiddenField, invalidValue, required, type Findings } from './causes.ts';

/** What the rules of a schedule look at beside it. */
interface Request {
  readonly durationInSecond: number;
  readonly perRequestTimeoutInMS: number;
}

const field = 'spec.schedule';

/** A schedule must be one form that comes, and a round's requests must fit into its timeout less the runner's margin, that into the interval. */
export function scheduleRules(schedule: Schedule, request: Request, { causes }: Findings): void {
  if (schedule.roundNumber === 0) causes.push(invalidValue(`${field}.roundNumber`, 0, 'must be -1 (for ever) or greater than or equal to 1'));
  let interval: number | undefined;
  try {
    interval = intervalMs(schedule);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    causes.push(invalidValue(`${field}.${error.field}`, schedule[error.field], error.message));
    return;
  }
  if (interval === undefined && schedule.roundNumber !== 1 && schedule.roundNumber !== 0) {
    causes.push(required(`${field}.intervalSeconds`, `needed for roundNumber ${schedule.roundNumber} (or give schedule): without an interval there is one round`));
  }
  if (schedule.roundTimeoutMinute !== undefined && schedule.roundTimeoutSeconds !== undefined) {
    causes.push(forbiddenField(`${field}.roundTimeoutSeconds`, 'may not be given together with roundTimeoutMinute'));
    return;
  }
  const timeoutField = `${field}.${schedule.roundTimeoutSeconds === undefined ? 'roundTimeoutMinute' : 'roundTimeoutSeconds'}`;
  const timeout = roundTimeoutMs(schedule);
  const given = schedule.roundTimeoutSeconds ?? schedule.roundTimeoutMinute;
  if (interval !== undefined && timeout > interval) {
    causes.push(invalidValue(timeoutField, given, `must not be longer than the ${spoken(interval)} between two rounds`));
    return;
  }
  const margin = roundMarginMs(timeout);
  const available = timeout - margin;
  if (request.durationInSecond * 1000 + request.perRequestTimeoutInMS > available) {
    const from = given !== undefined ? '' : interval === undefined ? ', the default' : ', the interval since none is set';
    const why = `the ${spoken(available)} that a round has for its requests: a round timeout of ${spoken(timeout)}${from}, less ${spoken(margin)} in which the runner hands in its result`;
    if (request.durationInSecond * 1000 > available) causes.push(invalidValue('spec.request.durationInSecond', request.durationInSecond, `must fit into ${why}`));
    else causes.push(invalidValue('spec.request.perRequestTimeoutInMS', request.perRequestTimeoutInMS, `together with durationInSecond (${request.durationInSecond} s) must fit into ${why}`));
  }
}

/** `90 seconds`, `5 minutes`. */
function spoken(ms: number): string {
  const [count, unit] = ms % 60_000 === 0 ? [ms / 60_000, 'minute'] : [ms / 1000, 'second'];
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
