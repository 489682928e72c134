import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { service as controllers } from '@roundsman/controllers';
import { service as scheduler } from '@roundsman/scheduler';
import { runServices, type RunningServices } from '@roundsman/service';
import { eventually } from '@roundsman/testkit';
import { pino } from 'pino';
import { KubectlCluster } from './kubectl-cluster.ts';
import { ObedientAgent } from './obedient-agent.ts';

let cluster: KubectlCluster;
let services: RunningServices;
const agents: ObedientAgent[] = [];

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  const log = pino({ level: process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent' });
  services = await runServices([{ definition: controllers }, { definition: scheduler }], { env: {}, log, databaseUrl: cluster.databaseUrl, connect: (identity) => cluster.nats.connect(identity) });
  for (const node of ['node-1', 'node-2']) {
    const agent = new ObedientAgent(node, await cluster.nats.connect(`agent-${node}`));
    agents.push(agent);
    agent.start();
  }
  await eventually(async () => expect(await cluster.must(['get', 'nodes', '--no-headers'])).toMatch(/node-1 +Ready[^]*node-2 +Ready/));
});
afterAll(async () => {
  await Promise.all(agents.map((agent) => agent.stop()));
  await services.stop();
  await cluster.stop();
});
afterEach(async () => {
  for (const agent of agents) {
    agent.badImage = '';
    expect(agent.problems).toEqual([]);
  }
  await cluster.must(['delete', 'deployment,rs,pod,pdb', '--all', '--wait=true']);
});

const must = (...args: string[]): Promise<string> => cluster.must(args);
const create = (replicas = 3): Promise<string> => must('create', 'deployment', 'web', '--image=web:1', `--replicas=${replicas}`);
const rolledOut = (): Promise<string> => must('rollout', 'status', 'deploy/web', '--timeout=90s');
const historyIs = (lines: RegExp): Promise<void> => eventually(async () => expect(await must('rollout', 'history', 'deploy/web')).toMatch(lines));
/** Awaits these images: a roll-out is complete while the last of the old pods still ends. */
const imagesAre = (images: string): Promise<void> =>
  eventually(async () => expect((await must('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.containers[0].image}')).trim()).toBe(images));

describe('kubectl rollout', () => {
  it('waits, tells the history with its causes, and undoes', async () => {
    await create();
    expect(await rolledOut()).toContain('deployment "web" successfully rolled out');
    await must('annotate', 'deploy/web', 'kubernetes.io/change-cause=the first');
    // The controller looks at a deployment as it is by then: after the next change this would be the cause of that.
    await historyIs(/1 +the first/);
    await must('set', 'image', 'deploy/web', 'web=web:2');
    await rolledOut();
    await must('annotate', 'deploy/web', 'kubernetes.io/change-cause=the second', '--overwrite');
    await historyIs(/1 +the first\n2 +the second/);
    expect(await must('rollout', 'history', 'deploy/web', '--revision=1')).toMatch(/Image:\s+web:1/);
    expect(await must('rollout', 'undo', 'deploy/web')).toBe('deployment.apps/web rolled back\n');
    await rolledOut();
    await imagesAre('web:1 web:1 web:1');
    await historyIs(/2 +the second\n3 +the first/);
    const described = await must('describe', 'deploy/web');
    expect(described).toMatch(/Progressing +True +NewReplicaSetAvailable/);
    expect(described).toMatch(/NewReplicaSet: +web-[a-z0-9]+ \(3\/3 replicas created\)/);
    // Events are told by the way, several at a time.
    await eventually(async () => expect(await must('describe', 'deploy/web')).toMatch(/ScalingReplicaSet +\S+.* deployment-controller +Scaled up replica set web-[a-z0-9]+ from 0 to 3/));
  });

  it('restarts, pauses and resumes', async () => {
    await create(2);
    await rolledOut();
    const before = await must('get', 'pods', '-o', 'name');
    await must('rollout', 'restart', 'deploy/web');
    await rolledOut();
    // A roll-out is complete while the last of the old pods still ends.
    await eventually(async () => {
      const after = await must('get', 'pods', '-o', 'name');
      expect(after.split('\n').filter((name) => name !== '' && before.includes(name))).toEqual([]);
    });
    await must('rollout', 'pause', 'deploy/web');
    await must('set', 'image', 'deploy/web', 'web=web:9');
    await must('scale', 'deploy/web', '--replicas=3');
    await imagesAre('web:1 web:1 web:1');
    expect(await must('rollout', 'resume', 'deploy/web')).toBe('deployment.apps/web resumed\n');
    await rolledOut();
    await imagesAre('web:9 web:9 web:9');
  });

  it('says when it is stuck, and comes back from it', async () => {
    for (const agent of agents) agent.badImage = 'web:bad';
    await create(2);
    await rolledOut();
    const deadline = (seconds: number): Promise<string> => must('patch', 'deploy/web', '-p', `{"spec":{"progressDeadlineSeconds":${seconds}}}`);
    await deadline(2);
    await must('set', 'image', 'deploy/web', 'web=web:bad');
    const stuck = await cluster.kubectl(['rollout', 'status', 'deploy/web', '--timeout=90s']);
    expect(stuck.code).toBe(1);
    expect(stuck.stderr).toContain('error: deployment "web" exceeded its progress deadline');
    await eventually(async () => expect(await must('get', 'deploy', 'web', '--no-headers')).toMatch(/^web +2\/2 +1 +2 /));
    await deadline(600);
    await must('rollout', 'undo', 'deploy/web');
    await rolledOut();
  });
});

describe('kubectl delete', () => {
  const uids = (kind: string): Promise<string> => must('get', kind, '-o', 'jsonpath={.items[*].metadata.uid}');

  it('takes all that was made, leaves it behind, or waits for it', async () => {
    await create(2);
    await rolledOut();
    await must('delete', 'deploy/web');
    await eventually(async () => expect(await uids('rs,pods')).toBe(''));
    await create(2);
    await rolledOut();
    const sets = await uids('rs');
    await must('delete', 'deploy/web', '--cascade=orphan');
    expect(await uids('rs')).toBe(sets);
    expect(await must('get', 'rs', '-o', 'jsonpath={.items[*].metadata.ownerReferences}')).toBe('');
    // The next deployment of this name takes over what it left.
    await create(2);
    await rolledOut();
    expect(await uids('rs')).toBe(sets);
    await must('delete', 'deploy/web', '--cascade=foreground');
    expect(await uids('deploy,rs,pods')).toBe('');
  });
});

describe('kubectl drain', () => {
  it('empties a node as fast as the disruption budget allows, and the node shows its lease', async () => {
    await create(4);
    await rolledOut();
    await must('create', 'pdb', 'web', '--selector=app=web', '--max-unavailable=1');
    await must('drain', 'node-1', '--timeout=90s');
    expect(await must('get', 'pods', '--field-selector=spec.nodeName=node-1', '-o', 'name')).toBe('');
    await rolledOut();
    await eventually(async () => expect(await must('get', 'pdb', 'web', '--no-headers')).toMatch(/^web +N\/A +1 +1 /));
    await eventually(async () => {
      const described = await must('describe', 'node', 'node-1');
      expect(described).toMatch(/Taints: +node.kubernetes.io\/unschedulable:NoSchedule/);
      expect(described).toMatch(/HolderIdentity: +node-1/);
      expect(described).toMatch(/RenewTime: +\w{3}, /);
    });
    await must('uncordon', 'node-1');
    await eventually(async () => expect(await must('get', 'node', 'node-1', '-o', 'jsonpath={.spec.taints}')).toBe(''));
  });
});
