import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Home } from '../home.ts';
import { networkOf } from './home-network.ts';

describe('the network of a home', () => {
  let home: Home;
  beforeEach(() => {
    home = new Home(mkdtempSync(join(tmpdir(), 'roundsman-ranges-')));
    home.create();
  });
  afterEach(() => rmSync(home.path, { recursive: true, force: true }));

  it('is kept, and is as before when intake refuses what was asked for, which is told by its flag', async () => {
    const first = await networkOf(home, { serviceCidr: '10.213.96.0/20' });
    const kept = home.read('network.json');
    expect(JSON.parse(kept!)).toEqual(first.choice);
    expect((await networkOf(home, {})).choice).toEqual(first.choice);
    const second = await networkOf(home, { serviceCidr: '10.213.96.0/30' });
    const refusal = second.refusal(new Error('ROUNDSMAN_INTAKE_SERVICE_CIDRS: 10.213.96.0/30 must have a prefix from 12 to 28'));
    expect(refusal?.message).toBe('--service-cidr: 10.213.96.0/30 must have a prefix from 12 to 28');
    expect(home.read('network.json')).toBe(kept);
    // A start that failed for another reason may have given addresses out already.
    expect((await networkOf(home, { serviceCidr: '10.213.112.0/20' })).refusal(new Error('not ready within 60 s'))).toBeUndefined();
    expect(JSON.parse(home.read('network.json')!)).toMatchObject({ serviceCidr: '10.213.112.0/20' });
  });

  it('is none where the first one was refused', async () => {
    const asked = await networkOf(home, { podCidr: '10.213.0.0/28' });
    expect(asked.refusal(new Error('ROUNDSMAN_INTAKE_NODE_PREFIXES: must be from 28 to 30'))?.message).toContain('--pod-cidr');
    expect(home.read('network.json')).toBeUndefined();
  });
});
