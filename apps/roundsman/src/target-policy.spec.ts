import { describe, expect, it } from '@jest/globals';
import { compilePolicy } from '@roundsman/api';
import { ownEndpoints, policyEnv } from './target-policy.ts';

describe('the target policy', () => {
  it('is one for all who judge, whichever name a part was set by; nothing replaces anything', () => {
    const env = { ROUNDSMAN_TARGET_DENY: '10.0.0.0/8', ROUNDSMAN_NODE_AGENT_DENY: '192.168.0.0/16, 10.0.0.0/8', ROUNDSMAN_INTAKE_TARGET_ALLOW: '10.1.0.0/16', ROUNDSMAN_TARGET_DENY_ENDPOINTS: '10.9.9.9:9' };
    const { intake, 'node-agent': agent, 'probe-runner': runner } = policyEnv(env, ['127.0.0.1:4222']);
    expect(intake).toEqual({ ROUNDSMAN_INTAKE_TARGET_DENY: '10.0.0.0/8,192.168.0.0/16', ROUNDSMAN_INTAKE_TARGET_DENY_ENDPOINTS: '10.9.9.9:9,127.0.0.1:4222', ROUNDSMAN_INTAKE_TARGET_ALLOW: '10.1.0.0/16' });
    expect(Object.values(agent)).toEqual(Object.values(intake));
    expect(Object.values(runner)).toEqual(Object.values(intake));
    const policy = compilePolicy({ deny: agent['ROUNDSMAN_NODE_AGENT_DENY']!.split(',') });
    for (const address of ['169.254.169.254', '10.0.0.1', '192.168.1.1']) expect(policy.refusal(address, 80)).toBeDefined();
  });

  it('knows the product’s own endpoints from its URLs', async () => {
    const found = await ownEndpoints({ ROUNDSMAN_NATS_URL: 'nats://127.0.0.1:4333,[::1]', ROUNDSMAN_DATABASE_URL: 'postgres://u:p@127.0.0.9/roundsman' });
    expect(found).toEqual({ endpoints: ['127.0.0.1:4333', '[::1]:4222', '127.0.0.9:5432'], problems: [] });
    expect((await ownEndpoints({})).endpoints).toEqual(['127.0.0.1:4222']);
    expect((await ownEndpoints({ ROUNDSMAN_NATS_URL: 'nats://nowhere.invalid:4222', ROUNDSMAN_DATABASE_URL: 'postgres:///roundsman?host=/tmp' })).problems).toEqual([expect.stringMatching(/^NATS nowhere\.invalid: /)]);
  });
});
