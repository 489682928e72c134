import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject, Lease, Node, Pod } from '@roundsman/api';
import { TestCluster, unlessGone } from '../testing/cluster.ts';
import { mayLeaveAtMs } from './disruption-pace.ts';
import { leavesAtMs } from './taint-eviction.ts';
import { TaintTimes } from './taint-times.ts';
import { taintsOf } from './taints.ts';

const at = (seconds: number): string => `2026-01-01T00:00:${String(seconds).padStart(2, '0')}Z`;
const ready = (status: 'True' | 'False' | 'Unknown') => ({ type: 'Ready', status, lastTransitionTime: at(0) });
const nodeOf = (name: string, status: 'True' | 'False' | 'Unknown', more: { taints?: object[]; unschedulable?: boolean; conditions?: object[] } = {}): Node => {
  const { conditions = [], ...spec } = more;
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec, status: { conditions: [ready(status), ...conditions] } } as unknown as Node;
};
const ms = (seconds: number): number => Date.parse(at(seconds));

describe('the taints of a node', () => {
  const text = (node: Node, leaving?: { key: string; timeAdded: string }): string[] => taintsOf(node, leaving).map(({ key, effect }) => `${key}:${effect}`);

  it('follow from how it is, beside those of others', () => {
    const own = { key: 'gpu', value: 'yes', effect: 'NoSchedule' };
    expect(text(nodeOf('n', 'True', { taints: [own] }))).toEqual(['gpu:NoSchedule']);
    expect(text(nodeOf('n', 'True', { taints: [own], unschedulable: true, conditions: [{ type: 'MemoryPressure', status: 'True' }] }))).toEqual([
      'gpu:NoSchedule', 'node.kubernetes.io/memory-pressure:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule',
    ]);
    expect(text(nodeOf('n', 'Unknown', { taints: [own] }), { key: 'node.kubernetes.io/unreachable', timeAdded: at(0) })).toEqual(['gpu:NoSchedule', 'node.kubernetes.io/unreachable:NoSchedule', 'node.kubernetes.io/unreachable:NoExecute']);
  });

  it('go when it is well again, and keep their time while it is not', () => {
    const lost = taintsOf(nodeOf('n', 'Unknown'), { key: 'node.kubernetes.io/unreachable', timeAdded: at(1) });
    expect(taintsOf(nodeOf('n', 'Unknown', { taints: lost }), { key: 'node.kubernetes.io/unreachable', timeAdded: at(9) })).toEqual(lost);
    expect(taintsOf(nodeOf('n', 'True', { taints: lost }), undefined)).toEqual([]);
  });
});

describe('how fast nodes are given up', () => {
  const tainted = (name: string, seconds: number): Node => nodeOf(name, 'Unknown', { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: at(seconds) }] });
  const lost = nodeOf('x', 'Unknown');
  const many = (count: number): Node[] => Array.from({ length: count }, (_, index) => nodeOf(`ok${index}`, 'True'));

  it('is one after the other, after a moment in which others may follow', () => {
    expect(mayLeaveAtMs(lost, [lost, ...many(2)], 0.1, ms(59))).toBe(ms(3));
    expect(mayLeaveAtMs(lost, [lost, tainted('y', 5), ...many(2)], 0.1, ms(59))).toBe(ms(15));
  });
  it('is not at all when no node is heard, or most of a small cluster are not', () => {
    expect(mayLeaveAtMs(lost, [lost], 0.1, ms(59))).toBeUndefined();
    expect(mayLeaveAtMs(lost, [lost, nodeOf('y', 'False')], 0.1, ms(59))).toBeUndefined();
    expect(mayLeaveAtMs(lost, [lost, nodeOf('y', 'Unknown'), nodeOf('z', 'Unknown'), ...many(2)], 0.1, ms(59))).toBeUndefined();
    expect(mayLeaveAtMs(lost, [lost, nodeOf('y', 'Unknown'), ...many(1)], 0.1, ms(59))).toBe(ms(3));
  });
  it('is not put off by times that are still to come: the clock was put back', () => {
    expect(mayLeaveAtMs(lost, [lost, tainted('y', 5), ...many(2)], 0.1, ms(4))).toBe(ms(3));
    expect(mayLeaveAtMs(lost, [lost, ...many(2)], 0.1, ms(0) - 3_600_000)).toBeLessThanOrEqual(ms(0) - 3_600_000);
  });
  it('is a tenth in a large cluster of which most are not heard', () => {
    const others = Array.from({ length: 40 }, (_, index) => nodeOf(`lost${index}`, 'Unknown'));
    expect(mayLeaveAtMs(lost, [lost, tainted('y', 5), ...others, ...many(20)], 1, ms(59))).toBe(ms(15));
  });
});

describe('how long a pod stays', () => {
  const taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' as const, timeAdded: at(10) };
  const stays = (...tolerations: object[]): number | undefined => leavesAtMs({ spec: { tolerations } } as unknown as Pod, [taint]);

  it('is as long as it tolerates each taint', () => {
    expect(stays()).toBe(0);
    expect(stays({ key: 'other', operator: 'Exists' })).toBe(0);
    expect(stays({ key: taint.key, operator: 'Exists', effect: 'NoSchedule' })).toBe(0);
    expect(stays({ key: taint.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 })).toBe(ms(15));
    expect(stays({ operator: 'Exists' })).toBeUndefined();
    expect(stays({ key: taint.key, effect: 'NoExecute' })).toBeUndefined();
  });
});

describe('a taint without a time', () => {
  const expelling = (...taints: object[]): Node => ({ ...nodeOf('n', 'True', { taints }), metadata: { name: 'n', uid: 'u' } }) as Node;
  const own = { key: 'gpu', effect: 'NoExecute' };
  const text = (times: TaintTimes, node: Node, seconds: number): string[] => times.of(node, ms(seconds)).map(({ key, timeAdded }) => `${key} ${timeAdded?.replace('.000', '')}`);

  it('counts from when it was seen, as long as it stays', () => {
    const times = new TaintTimes();
    const dated = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: at(1) };
    expect(text(times, expelling(own, { key: 'other', effect: 'NoSchedule' }), 5)).toEqual([`gpu ${at(5)}`]);
    expect(text(times, expelling(dated, own), 9)).toEqual([`node.kubernetes.io/unreachable ${at(1)}`, `gpu ${at(5)}`]);
    expect(text(times, expelling(dated), 10)).toEqual([`node.kubernetes.io/unreachable ${at(1)}`]);
    expect(text(times, expelling(own), 20)).toEqual([`gpu ${at(20)}`]);
    times.forget(expelling(own));
    expect(text(times, expelling(own), 30)).toEqual([`gpu ${at(30)}`]);
  });
});

describe('a node that falls silent', () => {
  let cluster: TestCluster;
  const lostMs = 1_500;
  beforeAll(async () => {
    cluster = await TestCluster.start({ ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: String(lostMs), ROUNDSMAN_CONTROLLERS_NODE_TAINTS_PER_SECOND: '10' });
    cluster.nodes.placement = () => undefined;
  });
  afterAll(() => cluster.stop());
  afterEach(async () => {
    for (const { metadata } of await cluster.list('pods')) await cluster.delete('pods', metadata.name, { gracePeriodSeconds: 0 }).catch(unlessGone);
  });

  const node = (name: string): Promise<Node | undefined> => cluster.get<Node>('nodes', name);
  const readiness = async (name: string): Promise<string | undefined> => (await node(name))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const taintKeys = async (name: string): Promise<string[]> => ((await node(name))?.spec.taints ?? []).map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`).sort();
  const allReady = (...names: string[]): Promise<void> =>
    cluster.until(async () => {
      for (const name of names) expect([await readiness(name), await taintKeys(name)]).toEqual(['True', []]);
    });
  const run = (name: string, on: string, tolerations: object[] = []): Promise<Pod> =>
    cluster.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { nodeName: on, containers: [{ name: 'c', image: 'x' }], tolerations } });
  const podReady = async (name: string): Promise<string> => {
    const condition = (await cluster.get<Pod>('pods', name))?.status?.conditions?.find(({ type }) => type === 'Ready');
    return `${condition?.status} ${condition?.reason ?? ''}`.trim();
  };
  const forSeconds = (tolerationSeconds: number): object[] => [{ key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];

  it('is unknown and tainted; its pods are not ready, leave by their tolerations, and all is well when it is back', async () => {
    cluster.nodes.join('n1', 'n2', 'n3');
    await allReady('n1', 'n2', 'n3');
    await run('brief', 'n1', forSeconds(0));
    await run('patient', 'n1', forSeconds(60));
    await run('elsewhere', 'n2', forSeconds(0));
    await cluster.until(async () => expect(await cluster.readyPods()).toHaveLength(3));
    cluster.nodes.lose('n1');
    await cluster.until(async () => expect([await readiness('n1'), await taintKeys('n1')]).toEqual(['Unknown', ['unreachable:NoExecute', 'unreachable:NoSchedule']]));
    await cluster.until(async () => {
      const brief = await cluster.get<Pod>('pods', 'brief');
      expect(brief?.metadata.deletionTimestamp).toBeDefined();
      expect(brief?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({ status: 'True', reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' });
      expect(await cluster.events(brief!)).toContain('TaintManagerEviction: Marking for deletion Pod default/brief');
      expect(await podReady('patient')).toBe('False NodeLost');
      expect(await cluster.events((await node('n1'))!)).toContainEqual('NodeNotReady: Node n1 status is now: NodeNotReady');
    });
    expect((await cluster.get<Pod>('pods', 'patient'))?.metadata.deletionTimestamp).toBeUndefined();
    await cluster.until(async () => expect(await podReady('elsewhere')).toBe('True'));
    // Its agent would tell anew of a pod that was taken for lost: what remains is that it was told.
    const wasLost = async (object: KubeObject | undefined): Promise<boolean> => (await cluster.events(object!)).some((event) => event.startsWith('NodeNotReady: '));
    expect((await wasLost(await cluster.get('pods', 'elsewhere'))) && !(await wasLost(await node('n2')))).toBe(false);
    cluster.nodes.rejoin('n1');
    await allReady('n1');
    await cluster.until(async () => {
      expect(await cluster.get('pods', 'brief')).toBeUndefined();
      expect(await podReady('patient')).toBe('True');
    });
  });

  it('takes no pod with it when no node at all is heard', async () => {
    cluster.nodes.join('n1', 'n2', 'n3');
    await allReady('n1', 'n2', 'n3');
    await run('brief', 'n2', forSeconds(0));
    cluster.nodes.lose('n1');
    await cluster.until(async () => expect(await taintKeys('n1')).toContain('unreachable:NoExecute'));
    for (const name of ['n2', 'n3']) cluster.nodes.lose(name);
    await cluster.until(async () => {
      for (const name of ['n1', 'n2', 'n3']) {
        expect(await readiness(name)).toBe('Unknown');
        expect(await taintKeys(name)).toEqual(['unreachable:NoSchedule']);
      }
    });
    expect((await cluster.get<Pod>('pods', 'brief'))?.metadata.deletionTimestamp).toBeUndefined();
    cluster.nodes.rejoin('n1');
    cluster.nodes.rejoin('n2');
    cluster.nodes.rejoin('n3');
    await allReady('n1', 'n2', 'n3');
  });

  it('lets pods stay as long as they tolerate a taint that a person set', async () => {
    cluster.nodes.join('n1', 'n2', 'n3');
    await allReady('n1');
    const tolerating = (tolerationSeconds: number): object[] => [{ key: 'gpu', operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];
    await run('brief', 'n1', tolerating(1));
    await run('patient', 'n1', tolerating(60));
    await run('none', 'n1');
    await cluster.until(async () => expect(await cluster.readyPods()).toHaveLength(3));
    await cluster.edit<Node>('nodes', 'n1', ({ spec }) => void (spec.taints = [{ key: 'gpu', effect: 'NoExecute' }]));
    await cluster.until(async () => expect((await cluster.list<Pod>('pods')).map(({ metadata }) => metadata.name)).toEqual(['patient']));
    await cluster.edit<Node>('nodes', 'n1', ({ spec }) => void delete spec.taints);
  });

  it('is cordoned off by a taint', async () => {
    cluster.nodes.join('n1', 'n2', 'n3');
    await allReady('n1');
    await cluster.edit<Node>('nodes', 'n1', ({ spec }) => void (spec.unschedulable = true));
    await cluster.until(async () => expect(await taintKeys('n1')).toEqual(['unschedulable:NoSchedule']));
    await cluster.edit<Node>('nodes', 'n1', ({ spec }) => void delete spec.unschedulable);
    await allReady('n1');
  });

  it('has a lease while it is heard, which goes with it', async () => {
    cluster.nodes.join('n4');
    await cluster.until(async () => {
      const lease = await cluster.get<Lease>('leases.coordination.k8s.io', 'n4', 'kube-node-lease');
      expect(lease?.spec).toMatchObject({ holderIdentity: 'n4', leaseDurationSeconds: 40, renewTime: expect.stringMatching(/\.\d{6}Z$/) });
    });
    cluster.nodes.lose('n4');
    await cluster.until(async () => expect(await readiness('n4')).toBe('Unknown'));
    await cluster.delete('nodes', 'n4');
    await cluster.until(async () => expect(await cluster.get('leases.coordination.k8s.io', 'n4', 'kube-node-lease')).toBeUndefined());
  });

  it('every namespace has its default account', async () => {
    await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    const account = (): Promise<unknown> => cluster.until(async () => expect(await cluster.get('serviceaccounts', 'default', 'shop')).toBeDefined());
    await account();
    await cluster.write({ operation: 'delete', resource: 'serviceaccounts', namespace: 'shop', name: 'default' });
    await account();
    await cluster.until(async () => expect(await cluster.get('serviceaccounts', 'default', 'kube-node-lease')).toBeDefined());
  });
});
