import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Node } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { age, SmallCluster } from './small-cluster.ts';

/** MiniK8s acceptance, nodes: a cluster of several, one that joins, their state. */
whenDocker(describe)('nodes of a small cluster', () => {
  let cluster: SmallCluster;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two'], { later: ['three'] });
  });
  afterAll(() => cluster?.stop());

  it('are shown as kubectl shows nodes', async () => {
    const lines = (await cluster.must(['get', 'nodes'])).trim().split('\n');
    expect(lines[0]).toMatch(/^NAME +STATUS +ROLES +AGE +VERSION$/);
    expect(lines.slice(1)).toEqual(['one', 'two'].map((name) => expect.stringMatching(new RegExp(`^${name} +Ready +<none> +${age} +v`)) as unknown));
    const node = await cluster.get<Node>('node', 'one');
    expect(node).toMatchObject({ metadata: { labels: { 'kubernetes.io/hostname': 'one', 'kubernetes.io/os': 'linux' } }, status: { capacity: { cpu: '2', memory: '2Gi', pods: '110' }, nodeInfo: { containerRuntimeVersion: expect.stringMatching(/^docker:\/\//) } } });
    const described = await cluster.must(['describe', 'node', 'one']);
    expect(described).toMatch(/Ready +True/);
    expect(described).toContain('Container Runtime Version:  docker://');
  });

  it('come when their agent comes, and take pods at once', async () => {
    cluster.addNode('three');
    await cluster.must(['wait', '--for=create', 'node/three', '--timeout=60s']);
    await cluster.must(['wait', '--for=condition=Ready', 'node/three', '--timeout=60s']);
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'on-three' }, spec: { nodeSelector: { 'kubernetes.io/hostname': 'three' }, containers: [{ name: 'main', image: 'busybox:1.35', command: ['sleep', '1000'] }], terminationGracePeriodSeconds: 0 } });
    await cluster.must(['wait', '--for=condition=Ready', 'pod/on-three', '--timeout=60s']);
    expect(await cluster.must(['get', 'pod', 'on-three', '-o', 'wide'])).toMatch(new RegExp(`on-three +1/1 +Running +0 +${age} +10\\.[\\d.]+ +three `));
  });

  it('are noticed when they fall silent, get no pods then, and come back', async () => {
    await cluster.kill(['agent-three']);
    await cluster.must(['wait', '--for=condition=Ready=Unknown', 'node/three', '--timeout=60s']);
    expect((await cluster.must(['get', 'node', 'three'])).trim().split('\n')[1]).toMatch(/^three +NotReady/);
    await eventually(async () => expect(await cluster.must(['get', 'node', 'three', '-o', 'jsonpath={.spec.taints[*].key}'])).toContain('node.kubernetes.io/unreachable'));
    await cluster.apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'waits' }, spec: { nodeSelector: { 'kubernetes.io/hostname': 'three' }, containers: [{ name: 'main', image: 'busybox:1.35', command: ['sleep', '1000'] }], terminationGracePeriodSeconds: 0 } });
    await eventually(async () => expect(await cluster.must(['get', 'pod', 'waits', '-o', 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'])).toMatch(/^0\/3 nodes are available: /), { within: 20_000 });
    const before = (await cluster.inspect('on-three', 'main')).State;
    cluster.restart(['agent-three']);
    await cluster.must(['wait', '--for=condition=Ready', 'node/three', '--timeout=60s']);
    await cluster.must(['wait', '--for=condition=Ready', 'pod/waits', '--timeout=60s']);
    // What ran there has gone on running.
    expect((await cluster.inspect('on-three', 'main')).State).toEqual(before);
    expect(await cluster.must(['get', 'pod', 'on-three', '-o', 'jsonpath={.status.containerStatuses[0].restartCount}'])).toBe('0');
  });

  it('take no more pods when they are cordoned, and are emptied when they are drained', async () => {
    await cluster.must(['create', 'deployment', 'web', '--image=busybox:1.35', '--replicas=3', '--', 'sleep', '1000']);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    await cluster.must(['delete', 'pod', 'waits', 'on-three', '--now']);
    expect(await cluster.must(['drain', 'three', '--grace-period=1', '--timeout=60s'], { timeoutMs: 90_000 })).toContain('node/three drained');
    expect((await cluster.must(['get', 'node', 'three'])).trim().split('\n')[1]).toMatch(/^three +Ready,SchedulingDisabled/);
    await cluster.must(['rollout', 'status', 'deployment/web', '--timeout=60s']);
    expect(await cluster.must(['get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.nodeName}'])).not.toContain('three');
    await cluster.must(['uncordon', 'three']);
    expect(cluster.dead()).toEqual([]);
  });
});
