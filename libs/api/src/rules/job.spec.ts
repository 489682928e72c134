import { describe, expect, it } from '@jest/globals';
import { causesOf, object, warningsOf, type Shape } from '../testing/rules.ts';
import { cronProblem } from './cron.ts';

const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'busybox' }] } };
const job = (spec: object, metadata = {}): Shape => object('jobs.batch', { metadata, spec: { template, ...spec } });
const cron = (spec: object, metadata = {}, jobSpec: object = {}): Shape => object('cronjobs.batch', { metadata, spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template, ...jobSpec } }, ...spec } });
const matching = (expected: readonly (string | RegExp)[]): unknown[] => expected.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text)));
const rule = (one: object): object => ({ podFailurePolicy: { rules: [{ action: 'FailJob', ...one }] } });

describe('jobs', () => {
  it.each<[name: string, given: Shape, ...causes: (string | RegExp)[]]>([
    ['are good', job({})],
    ['may be indexed', job({ completionMode: 'Indexed', completions: 5, parallelism: 2, backoffLimitPerIndex: 1, maxFailedIndexes: 2, successPolicy: { rules: [{ succeededIndexes: '0,2-3' }] } })],
    ['end their pods', job({ template: { spec: { ...template.spec, restartPolicy: 'Always' } } }), 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
    ['run at least none', job({ parallelism: -1 }), 'spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ['count their indexes', job({ completionMode: 'Indexed', parallelism: 2 }), 'spec.completions: Required value: when completion mode is Indexed'],
    ['have indexes or not', job({ backoffLimitPerIndex: 1 }), 'spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
    ['give pods names that they can have', job({ completionMode: 'Indexed', completions: 100 }, { name: 'a'.repeat(62) }), /^metadata\.name: Invalid value: "a+": will not able to create pod with invalid DNS label: a+-99$/],
    ['select their own pods', job({ selector: { matchLabels: { app: 'other' } } }), /spec\.selector: .*`selector` not auto-generated/, /`selector` does not match template `labels`/],
    ['may select by hand', job({ manualSelector: true, selector: { matchLabels: { app: 'x' } }, template: { ...template, metadata: { labels: { app: 'x' } } } })],
    ['that select by hand say what', job({ manualSelector: true }), 'spec.selector: Required value', /^spec\.template\.metadata\.labels: .*`selector` does not match/],
    ['look at one thing in a rule', job(rule({})), 'spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required'],
    ['take no success for a failure', job(rule({ onExitCodes: { operator: 'In', values: [0] } })), 'spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator'],
  ])('%s', (_name, given, ...expected) => {
    expect(causesOf(given)).toEqual(matching(expected));
  });
  it.each<[name: string, from: object, to: object, ...causes: (string | RegExp)[]]>([
    ['parallelism and suspension', { completions: 2 }, { completions: 2, parallelism: 3, suspend: true }],
    ['not completions', { completions: 2 }, { completions: 3 }, 'spec.completions: Invalid value: 3: field is immutable'],
    ['not the template', {}, { template: { spec: { ...template.spec, hostNetwork: true } } }, /^spec\.template: Invalid value: .*: field is immutable$/],
    ['the place of pods before it begins', { suspend: true }, { suspend: true, template: { spec: { ...template.spec, nodeSelector: { disk: 'ssd' } } } }],
    ['not the mode', { completions: 1 }, { completions: 1, completionMode: 'Indexed' }, 'spec.completionMode: Invalid value: "Indexed": field is immutable'],
  ])('change %s', (_name, from, to, ...expected) => {
    expect(causesOf(job(to), job(from))).toEqual(matching(expected));
  });
});

describe('cron jobs', () => {
  it.each<[name: string, given: Shape, ...causes: (string | RegExp)[]]>([
    ['are good', cron({ timeZone: 'Europe/Berlin' })],
    ['have a schedule', cron({ schedule: '' }), 'spec.schedule: Required value'],
    ['have one that can be read', cron({ schedule: 'often' }), 'spec.schedule: Invalid value: "often": expected exactly 5 fields, found 1: [often]'],
    ['have the zone beside it', cron({ schedule: 'TZ=UTC 0 0 * * *' }), 'spec.schedule: Invalid value: "TZ=UTC 0 0 * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'],
    ['have a zone that exists', cron({ timeZone: 'Mars/Olympus' }), 'spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus'],
    ['have a zone of their own', cron({ timeZone: 'Local' }), /must be an explicit time zone/],
    ['have short names', cron({}, { name: 'a'.repeat(53) }), /^metadata\.name: Invalid value: "a+": must be no more than 52 characters$/],
    ['make jobs that are good', cron({}, {}, { parallelism: -1 }), 'spec.jobTemplate.spec.parallelism: Invalid value: -1: must be greater than or equal to 0'],
    ['leave the selector to the jobs', cron({}, {}, { selector: { matchLabels: { a: 'b' } } }), /^spec\.jobTemplate\.spec\.selector: .*: `selector` will be auto-generated$/],
    ['wait for late starts', cron({ startingDeadlineSeconds: -1 }), 'spec.startingDeadlineSeconds: Invalid value: -1: must be greater than or equal to 0'],
    ['know their policy', cron({ concurrencyPolicy: 'Maybe' }), 'spec.concurrencyPolicy: Unsupported value: "Maybe": supported values: "Allow", "Forbid", "Replace"'],
  ])('%s', (_name, given, ...expected) => {
    expect(causesOf(given)).toEqual(matching(expected));
  });
});

describe('schedules', () => {
  it('of no date are taken as in Kubernetes, with a warning', () => {
    const never = cron({ schedule: '0 0 30 2 *' });
    expect(causesOf(never)).toEqual([]);
    expect(warningsOf(never)).toEqual(['spec.schedule: "0 0 30 2 *" never comes: no date fits it, no job will be started']);
    for (const schedule of ['0 0 29 2 *', '@every 1h', '@daily', '5/15 * * * *', '? ? * * ?', '*/5 0-6/2 1,15 jan-MAR sun']) expect(warningsOf(cron({ schedule }))).toEqual([]);
  });
  it.each(['* * * * *', '*/5 0-6/2 1,15 jan-MAR sun', '? ? * * ?', '@daily', '@every 1h30m', '@every 1.5h', '@every 500ms', '5/15 * * * *'])('%s can be read', (schedule) => {
    expect(cronProblem(schedule)).toBeUndefined();
  });
  it.each([
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['* * * * 7', 'end of range (7) above maximum (6): 7'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['*/1/2 * * * *', 'too many slashes: */1/2'],
    ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
    ['@sometimes', 'unrecognized descriptor: @sometimes'],
    ['@every so often', 'failed to parse duration @every so often: time: invalid duration "so often"'],
    ['@every 5', 'failed to parse duration @every 5: time: invalid duration "5"'],
    ['@every -5s', 'must be a positive duration, such as @every 1h30m: @every -5s'],
    ['@every 0', 'must be a positive duration, such as @every 1h30m: @every 0'],
    ['@every 0h0s', 'must be a positive duration, such as @every 1h30m: @every 0h0s'],
  ])('%s: %s', (schedule, problem) => {
    expect(cronProblem(schedule)).toBe(problem);
  });
});
