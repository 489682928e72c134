import { defaultCapacityQps, type Limits, type PolicySettings } from '@roundsman/api';
import { z } from 'zod';
import { networkProblems, networkSettings } from './network/settings.ts';

const count = (value: number) => z.coerce.number().int().positive().default(value);
/** `a, b` -> ['a', 'b']; empty entries are dropped. */
const list = z
  .string()
  .default('')
  .transform((text) => text.split(',').map((one) => one.trim()).filter((one) => one !== ''));

/** `10.0.0.1:4222, [::1]:5432` as pairs; a bad one stops the start. */
const endpoints = list.transform((entries, context) =>
  entries.map((entry) => {
    const match = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry);
    if (match === null) {
      context.issues.push({ code: 'custom', message: `"${entry}" is not address:port`, input: entry });
      return z.NEVER;
    }
    return { address: match[1]!.replace(/^\[|\]$/g, ''), port: Number(match[2]) };
  }),
);

export const intakeSettings = z
  .object({
    maxQpsPerRunner: count(defaultCapacityQps).describe('Requests per second that a task may ask of one runner, over all its targets; less where a ready runner declares less'),
    maxRequestsPerRound: count(50_000_000).describe('Requests that a task may ask of one runner in one round'),
    maxBodyBytes: count(1_048_576).describe('Bytes of a request body'),
    targetDeny: list.describe('CIDR ranges that no task may target, besides link-local addresses'),
    targetDenyEndpoints: endpoints.describe('address:port pairs that no task may target: the product’s own NATS and Postgres'),
    targetAllow: list.describe('CIDR ranges or address:port pairs that are open whatever is denied'),
    keepChanges: count(100_000).describe('Changes kept for watches that resume'),
    keepChangesMinutes: count(60).describe('Minutes for which changes are kept at most'),
    ...networkSettings,
  })
  .superRefine((settings, context) => {
    for (const { setting, problem } of networkProblems(settings)) context.addIssue({ code: 'custom', path: [setting], message: problem });
  });
export type IntakeSettings = z.output<typeof intakeSettings>;

export const limitsOf = ({ maxQpsPerRunner, maxRequestsPerRound, maxBodyBytes }: IntakeSettings): Limits => ({ maxQpsPerRunner, maxRequestsPerRound, maxBodyBytes });

export const policySettingsOf = ({ targetDeny, targetDenyEndpoints, targetAllow }: IntakeSettings): PolicySettings => ({
  deny: targetDeny,
  denyEndpoints: targetDenyEndpoints,
  allow: targetAllow,
});
