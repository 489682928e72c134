import { z } from 'zod';
import { defaultPlanSettings } from './rounds/plan.ts';

const milliseconds = (value: number) => z.coerce.number().int().nonnegative().default(value);

/** Environment variables `ROUNDSMAN_SCHEDULER_<KEY>`; milliseconds. */
export const settingsSchema = z.object({
  runtime: z.string().default('default').describe('Runtime whose runners carry the tasks that have none of their own'),
  leadMs: milliseconds(defaultPlanSettings.leadMs).describe('A round is made so long before its start'),
  noRunnerWaitMs: milliseconds(defaultPlanSettings.noRunnerWaitMs).describe('How long a round waits for a first ready runner'),
  heartbeatWaitMs: milliseconds(defaultPlanSettings.heartbeatWaitMs).describe('How long a round waits for a runner whose pod is ready and that was not heard yet'),
  lateMs: milliseconds(defaultPlanSettings.lateMs).describe('How late any round may still begin'),
  maxMissed: z.coerce.number().int().positive().default(defaultPlanSettings.maxMissed).describe('Missed rounds recorded after an outage'),
  republishMs: z.coerce.number().int().min(1000).default(10_000).describe('Work of an open round is offered again so often'),
  sweepMs: z.coerce.number().int().min(1000).default(60_000).describe('Leftovers in the work stream are looked for so often'),
});
export type Settings = z.infer<typeof settingsSchema>;
