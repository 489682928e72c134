import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readSettings, refuseUnknownSettings, SettingsError } from './settings.ts';

const schema = z.object({ runnerEntry: z.string().default(''), leadMs: z.coerce.number().int().positive().default(5), apiToken: z.string().min(10).optional() });

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('settings of a service', () => {
  it('are its own variables, with defaults for what is unset or empty', () => {
    const env = { ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY: '/x.js', ROUNDSMAN_NODE_AGENT_LEAD_MS: '', ROUNDSMAN_GATEWAY_PORT: '1', PATH: '/bin' };
    expect(readSettings('node-agent', schema, env)).toEqual({ runnerEntry: '/x.js', leadMs: 5 });
  });

  it('are refused all at once, each by its name', () => {
    const problems = problemsOf(() => readSettings('node-agent', schema, { ROUNDSMAN_NODE_AGENT_LEAD_MS: '-1', ROUNDSMAN_NODE_AGENT_LEAD: '1' }));
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatch(/^ROUNDSMAN_NODE_AGENT_LEAD: no such setting; known are ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY/);
    expect(problems[1]).toMatch(/^ROUNDSMAN_NODE_AGENT_LEAD_MS: .*\(it is "-1"\)/);
  });

  it('never repeat a secret', () => {
    const [problem] = problemsOf(() => readSettings('gateway', schema, { ROUNDSMAN_GATEWAY_API_TOKEN: 'hunter2' }));
    expect(problem).toMatch(/^ROUNDSMAN_GATEWAY_API_TOKEN: /);
    expect(problem).not.toContain('hunter2');
  });

  it('may also stand behind a transform or a default', () => {
    const wrapped = z.object({ port: z.coerce.number() }).transform(({ port }) => port + 1);
    expect(readSettings('x', wrapped as z.ZodType<number>, { ROUNDSMAN_X_PORT: '1' })).toBe(2);
    expect(problemsOf(() => readSettings('x', wrapped as z.ZodType<number>, { ROUNDSMAN_X_PORT: '1', ROUNDSMAN_X_PORTS: '1' }))).toHaveLength(1);
  });
});

describe('settings of a process', () => {
  it('belong to it or to a service of the product', () => {
    expect(problemsOf(() => refuseUnknownSettings(['intake', 'node-agent'], { ROUNDSMAN_HOME: '/x', ROUNDSMAN_INTAKE_X: '1', ROUNDSMAN_NODE_AGENT_X: '1', OTHER: '1' }))).toEqual([]);
    const problems = problemsOf(() => refuseUnknownSettings(['intake'], { ROUNDSMAN_INTAK_X: '1', ROUNDSMAN_DATABASE: 'x' }));
    expect(problems.map((line) => line.split(':')[0])).toEqual(['ROUNDSMAN_INTAK_X', 'ROUNDSMAN_DATABASE']);
  });
});
