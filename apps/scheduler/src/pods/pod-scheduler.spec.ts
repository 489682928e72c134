import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { KubeObject, Pod } from '@roundsman/api';
import { ServiceError, Unreachable } from '@roundsman/bus';
import { node, pod, type PodParts } from './testing/objects.ts';
import { World } from './testing/world.ts';

let world: World;
beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'queueMicrotask', 'nextTick', 'performance'] });
  world = new World();
});
afterEach(async () => {
  await world.stop();
  jest.useRealTimers();
});

/** Lets everything run that needs no time to pass. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};
const passed = async (ms: number): Promise<void> => {
  await jest.advanceTimersByTimeAsync(ms);
  await settled();
};
const binds = (): string[] => world.writes.filter(({ operation }) => operation === 'bind').map(({ name, node: to }) => `${name} to ${to}`);
const condition = (name: string, type = 'PodScheduled') => world.pod(name).status?.conditions?.find((one) => one.type === type);
interface EventBody {
  readonly metadata: { readonly name: string };
  readonly message: string;
  readonly count: number;
}
const events = (reason: string): EventBody[] => world.writes.flatMap(({ resource, object }) => (resource === 'events' && object?.['reason'] === reason ? [object as unknown as EventBody] : []));
const add = (name: string, parts: PodParts = {}): Pod => world.put('pods', pod(name, { requests: { cpu: '2' }, ...parts })) as Pod;

describe('placing pods', () => {
  it('decides on the next while the first is still being bound, as if it were there', async () => {
    world.put('nodes', node('n', { allocatable: { cpu: '4' } }));
    await world.start();
    let free = (): void => undefined;
    const held = new Promise<void>((resolve) => (free = resolve));
    world.before = ({ operation }) => (operation === 'bind' ? held : undefined);
    for (const name of ['a', 'b', 'c']) add(name);
    await settled();
    expect(binds()).toEqual(['a to n', 'b to n']);
    expect(condition('c')?.message).toContain('0/1 nodes are available: 1 Insufficient cpu.');
    free();
    await settled();
    expect(['a', 'b', 'c'].map((name) => world.pod(name).spec.nodeName)).toEqual(['n', 'n', undefined]);
  });

  it('spreads the pods of a service, whoever made them', async () => {
    for (const name of ['n', 'm']) world.put('nodes', node(name));
    world.put('services', { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name: 'web', uid: 'web' }, spec: { selector: { app: 'web' } } } as unknown as KubeObject);
    // Less is free where no pod of the service is.
    add('first', { labels: { app: 'web' }, nodeName: 'n', requests: { cpu: '1' } });
    add('other', { labels: { app: 'db' }, nodeName: 'm', requests: { cpu: '2' } });
    await world.start();
    add('a', { labels: { app: 'web' }, requests: { cpu: '100m' } });
    add('b', { labels: { app: 'db' }, requests: { cpu: '100m' } });
    await settled();
    expect(binds()).toEqual(['a to m', 'b to n']);
  });

  it('tells once that a claim is missing, however many nodes there are', async () => {
    for (const name of ['n', 'm']) world.put('nodes', node(name));
    await world.start();
    add('a', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'p' } }] });
    await settled();
    expect(condition('a')).toMatchObject({ status: 'False', reason: 'Unschedulable', message: '0/2 nodes are available: persistentvolumeclaim "p" not found. preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.' });
    expect(binds()).toEqual([]);
  });

  describe('whose claim waits for a node', () => {
    const claim = (annotations: Record<string, string>, volumeName?: string): KubeObject =>
      ({
        apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { namespace: 'default', name: 'p', uid: 'claim', annotations },
        spec: { storageClassName: 'lazy', accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } }, ...(volumeName === undefined ? {} : { volumeName }) },
      }) as unknown as KubeObject;
    const selected = (): unknown => world.objects.get('persistentvolumeclaims default/p')?.metadata.annotations?.['volume.kubernetes.io/selected-node'];
    beforeEach(async () => {
      world.put('nodes', node('n', { allocatable: { cpu: '2' } }));
      world.put('storageclasses.storage.k8s.io', { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'lazy', uid: 'lazy' }, provisioner: 'example.com/disks', volumeBindingMode: 'WaitForFirstConsumer' } as unknown as KubeObject);
      world.put('persistentvolumeclaims', claim({}));
      await world.start();
      add('a', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'p' } }] });
      await settled();
    });

    it('says which one, keeps its room, and binds the pod once the claim is bound', async () => {
      expect([selected(), binds()]).toEqual(['n', []]);
      add('b');
      await settled();
      expect(condition('b')?.message).toContain('0/1 nodes are available: 1 Insufficient cpu.');
      world.put('persistentvolumes', { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'v', uid: 'v' }, spec: {} } as unknown as KubeObject);
      world.put('persistentvolumeclaims', claim({ 'volume.kubernetes.io/selected-node': 'n', 'pv.kubernetes.io/bind-completed': 'yes' }, 'v'));
      await settled();
      expect(binds()).toEqual(['a to n']);
    });

    it('chooses anew when no volume could be had there, and says so', async () => {
      world.put('persistentvolumeclaims', claim({}));
      await settled();
      expect(condition('a')?.message).toBe('running PreBind plugin "VolumeBinding": no volume could be had on node "n" for persistentvolumeclaim "p"; its events say why');
      expect([selected(), binds()]).toEqual([undefined, []]);
      await passed(1_000);
      expect(selected()).toBe('n');
    });
  });

  it.each([
    ['refused', new ServiceError(422, 'no'), 'binding rejected: no'],
    ['lost', new Unreachable('no answer from intake'), undefined],
  ])('undoes a binding that was %s, and tries again after its back-off', async (_, error, message) => {
    world.put('nodes', node('n', { allocatable: { cpu: '2' } }));
    await world.start();
    let times = 0;
    world.before = ({ operation }) => {
      if (operation === 'bind' && ++times === 1) throw error;
    };
    add('a');
    await settled();
    expect(condition('a')?.message).toBe(message);
    // Its room is free again.
    add('b');
    await settled();
    expect(world.pod('b').spec.nodeName).toBe('n');
    world.remove('pods', world.pod('b'));
    await passed(999);
    expect(binds()).toEqual(['a to n', 'b to n']);
    await passed(1);
    expect(world.pod('a').spec.nodeName).toBe('n');
  });

  it('believes whoever bound a pod before, also when it has not heard of that', async () => {
    world.put('nodes', node('n1'));
    await world.start();
    world.before = ({ operation }) => {
      if (operation !== 'bind') return;
      world.deaf = true;
      world.put('pods', { ...world.pod('a'), spec: { ...world.pod('a').spec, nodeName: 'n2' } } as Pod);
    };
    add('a', { requests: { cpu: '4' } });
    await settled();
    await passed(60_000);
    expect(binds()).toEqual(['a to n1']);
    expect(world.pod('a').spec.nodeName).toBe('n2');
    world.before = () => undefined;
    world.deaf = false;
    // It takes nothing of the node that was meant for it.
    add('b', { requests: { cpu: '4' } });
    await settled();
    expect(world.pod('b').spec.nodeName).toBe('n1');
  });

  it('forgets a pod that is gone before it is bound', async () => {
    world.put('nodes', node('n'));
    await world.start();
    world.before = ({ operation }) => {
      if (operation === 'bind' && world.pod('a') !== undefined) world.remove('pods', world.pod('a'));
    };
    add('a', { requests: { cpu: '4' } });
    await settled();
    world.before = () => undefined;
    add('b', { requests: { cpu: '4' } });
    await settled();
    await passed(60_000);
    expect(binds()).toEqual(['a to n', 'b to n']);
  });

  it('takes up what was there before it: pods on nodes, pods without', async () => {
    world.put('nodes', node('n', { allocatable: { cpu: '4' } }));
    add('there', { nodeName: 'n' });
    add('ended', { nodeName: 'n', status: { phase: 'Succeeded' } });
    add('a');
    add('b');
    await world.start();
    await settled();
    expect(binds()).toEqual(['a to n']);
    expect(condition('b')?.reason).toBe('Unschedulable');
  });

  it('tries again as soon as something helps: a pod that ended, a node that grew, a taint that went', async () => {
    const tainted = node('n', { allocatable: { cpu: '2' }, taints: [{ key: 'k', effect: 'NoSchedule' }] });
    world.put('nodes', tainted);
    await world.start();
    add('a');
    await settled();
    expect(condition('a')?.message).toContain('1 node(s) had untolerated taint {k: }');
    await passed(1_000);
    const cleared = world.put('nodes', { ...tainted, spec: {} });
    await settled();
    expect(world.pod('a').spec.nodeName).toBe('n');
    add('b');
    add('c');
    await passed(1_000);
    world.put('pods', { ...world.pod('a'), status: { phase: 'Failed' } } as Pod);
    await settled();
    expect(world.pod('b').spec.nodeName).toBe('n');
    await passed(2_000);
    world.put('nodes', { ...cleared, status: { ...(cleared.status as object), allocatable: { cpu: '4', memory: '8Gi', pods: '110' } } });
    await settled();
    expect(world.pod('c').spec.nodeName).toBe('n');
  });

  it('tries again every 15 s in any case, and counts what it tells', async () => {
    world.put('nodes', node('n', { allocatable: { cpu: '1' } }));
    await world.start();
    add('a');
    await settled();
    for (let time = 0; time < 8; time++) await passed(15_000);
    const failed = events('FailedScheduling');
    expect(failed.map(({ count }) => count)).toEqual([1, 5, 9]);
    expect(new Set(failed.map(({ metadata }) => metadata.name)).size).toBe(1);
    // The condition says the same all the time: it is written once.
    expect(world.writes.filter(({ operation }) => operation === 'updateStatus')).toHaveLength(1);
  });

  it('goes on beside objects that it cannot understand', async () => {
    world.put('nodes', node('odd', { allocatable: { cpu: 'many' } }));
    world.put('nodes', node('n'));
    await world.start();
    add('odd', { requests: { cpu: 'much' } });
    add('odder', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [null as never] } } } });
    add('good');
    await settled();
    expect(binds()).toEqual(['good to n']);
  });

  it('keeps what others write into a status at the same time', async () => {
    world.put('nodes', node('n', { unschedulable: true }));
    await world.start();
    let times = 0;
    world.before = ({ operation }) => {
      if (operation === 'updateStatus' && ++times === 1) world.put('pods', { ...world.pod('a'), status: { ...world.pod('a').status, qosClass: 'Burstable' } } as Pod);
    };
    add('a');
    await settled();
    expect(world.pod('a').status).toMatchObject({ qosClass: 'Burstable', conditions: [{ type: 'PodScheduled', status: 'False' }] });
  });
});

describe('a new leader', () => {
  it('decides nothing before its caches hold all that was committed before', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const asked: number[] = [];
    world.reached = (version) => {
      asked.push(version);
      return promise;
    };
    world.put('nodes', node('n', { allocatable: { cpu: '2' } }));
    add('a');
    const started = world.start();
    await settled();
    expect([asked, binds()]).toEqual([[2], []]);
    // What the leader before bound last.
    add('there', { nodeName: 'n' });
    resolve();
    await started;
    await settled();
    expect(binds()).toEqual([]);
    expect(condition('a')?.reason).toBe('Unschedulable');
  });

  it('whose term ended meanwhile decides nothing at all', async () => {
    world.reached = async () => world.over.abort(new Error('the term is over'));
    world.put('nodes', node('n'));
    add('a');
    await expect(world.start()).rejects.toThrow('the term is over');
    await settled();
    expect(world.writes).toEqual([]);
  });
});

describe('preemption', () => {
  it('asks once for its victims to go, waits for them, and takes their room', async () => {
    world.put('nodes', node('n', { allocatable: { cpu: '4' } }));
    add('low-1', { nodeName: 'n' });
    add('low-2', { nodeName: 'n' });
    await world.start();
    add('high', { priority: 10, requests: { cpu: '4' } });
    await settled();
    const deleted = (): string[] => world.writes.flatMap(({ operation, name }) => (operation === 'delete' ? [name ?? ''] : []));
    expect(deleted().toSorted()).toEqual(['low-1', 'low-2']);
    expect(world.pod('high').status?.nominatedNodeName).toBe('n');
    expect(condition('low-1', 'DisruptionTarget')).toMatchObject({ status: 'True', reason: 'PreemptionByScheduler' });
    expect(events('Preempted').map(({ message }) => message)).toEqual([`Preempted by pod ${world.pod('high').metadata.uid} on node n`, `Preempted by pod ${world.pod('high').metadata.uid} on node n`]);
    await passed(30_000);
    expect(condition('high')?.message).toBe('0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node.');
    expect(deleted()).toHaveLength(2);
    add('late', { requests: { cpu: '1' } });
    world.remove('pods', world.pod('low-1'));
    world.remove('pods', world.pod('low-2'));
    await passed(10_000);
    expect(binds()).toEqual(['high to n']);
  });

  it('gives up the room it was promised when it is of no use any more', async () => {
    const at = node('n', { allocatable: { cpu: '2' } });
    world.put('nodes', at);
    await world.start();
    add('high', { priority: 10, requests: { cpu: '3' }, status: { nominatedNodeName: 'n' } });
    await settled();
    expect(world.pod('high').status?.nominatedNodeName).toBeUndefined();
  });

  it('tries again when a victim could not be told', async () => {
    world.put('nodes', node('n', { allocatable: { cpu: '2' } }));
    add('low', { nodeName: 'n' });
    await world.start();
    let times = 0;
    world.before = ({ operation }) => {
      if (operation === 'delete' && ++times === 1) throw new Unreachable('no answer from intake');
    };
    add('high', { priority: 10 });
    await settled();
    expect(world.pod('low').metadata.deletionTimestamp).toBeUndefined();
    await passed(15_000);
    expect(world.pod('low').metadata.deletionTimestamp).toBeDefined();
  });
});
