import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { service as controllers } from '@roundsman/controllers';
import { service as scheduler } from '@roundsman/scheduler';
import { runServices, type RunningServices } from '@roundsman/service';
import { pino } from 'pino';
import { KubectlCluster } from '../kubectl-cluster.ts';
import { differences } from './differences.ts';
import { play, type Outcome } from './kubectl.ts';
import { script } from './script.ts';

/** What a real kube-apiserver, kube-controller-manager and kube-scheduler answered (`pnpm conformance` records it). */
const recorded = JSON.parse(readFileSync(new URL('recorded.json', import.meta.url), 'utf8')) as { kubernetes: string; outcomes: Record<string, Outcome> };

/** The same on our side: the whole control plane, and no node. */
let cluster: KubectlCluster;
let others: RunningServices | undefined;
let outcomes: Record<string, Outcome> = {};

beforeAll(async () => {
  // The script's node has a part of this range.
  cluster = await KubectlCluster.start({ ROUNDSMAN_INTAKE_POD_CIDRS: '10.9.0.0/16' });
  others = await runServices([{ definition: scheduler }, { definition: controllers }], {
    // The script's node has no agent: it should stay ready for as long as one of Kubernetes does.
    env: { ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '600000' },
    log: pino({ level: process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent' }),
    databaseUrl: cluster.databaseUrl,
    connect: (identity) => cluster.nats.connect(identity),
  });
  outcomes = await play(script, cluster.kubeconfig);
  // For a person who looks at the whole: diff it with recorded.json.
  const keep = process.env['ROUNDSMAN_CONFORMANCE_OUT'];
  if (keep) writeFileSync(keep, `${JSON.stringify({ kubernetes: 'ours', outcomes }, undefined, 1)}\n`);
}, 1_200_000);
afterAll(async () => {
  await others?.stop();
  await cluster.stop();
});

describe(`kubectl sees what Kubernetes ${recorded.kubernetes} shows`, () => {
  const compared = script.filter(({ until }) => until === undefined);
  it('compares every step', () => {
    expect(Object.keys(recorded.outcomes).sort()).toEqual(compared.map(({ name }) => name).sort());
    expect(Object.keys(differences).filter((name) => !(name in recorded.outcomes))).toEqual([]);
  });

  it.each(script.filter(({ until }) => until !== undefined).map(({ name }) => name))('%s', (name) => {
    // Present only when it was waited for in vain.
    expect(outcomes[name]).toBeUndefined();
  });

  it.each(compared.map(({ name }) => name))('%s', (name) => {
    const known = differences[name];
    if (known === undefined) expect(outcomes[name]).toEqual(recorded.outcomes[name]);
    else expect(outcomes[name]).not.toEqual(recorded.outcomes[name]);
  });
});
