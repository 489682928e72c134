import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { MemoryNode } from '../testing/memory-node.ts';
import { container } from '../testing/runs.ts';
import { mountsBelow } from '../volumes/mounts.ts';

const demands = (cpu: string) => ({ containers: [container('main', { resources: { requests: { cpu } } })] });

describe('pods on a runtime that does what it is told', () => {
  let node: MemoryNode;
  beforeEach(async () => {
    node = await MemoryNode.start();
  });
  afterEach(() => node.stop());

  const runs = (name: string) => eventually(() => expect(node.container(name)).toMatchObject({ ready: true, state: { running: {} } }));

  it('show ConfigMaps as they are now, also those that an earlier agent set up', async () => {
    const show = (text: string): void => void (node.materialsNow = { claims: new Map(), configMaps: new Map([['map', new Map([['key', Buffer.from(text)]])]]), secrets: new Map() });
    show('old');
    node.create('web', { containers: [container('main', { volumeMounts: [{ name: 'map', mountPath: '/map' }] })], volumes: [{ name: 'map', configMap: { name: 'map' } }] });
    await runs('web');
    await node.down();
    show('new');
    await node.up();
    await eventually(() => expect(node.manager.workers.get('web')?.podIPs).toHaveLength(1));
    node.manager.workers.get('web')?.refreshVolumes();
    await eventually(async () => expect(await readFile(join(node.folder, 'web', 'volumes', 'map', 'key'), 'utf8')).toBe('new'));
  });

  it('are made anew when their node has another range, each once, and not when it has the same', async () => {
    const sandboxes = (): number => node.runtime.calls.filter((call) => call === 'sandbox web').length;
    node.create('web', { containers: [container()], terminationGracePeriodSeconds: 0 });
    await runs('web');
    node.network.move(['10.0.0.0/24']);
    node.network.move(['10.0.7.0/24']);
    await eventually(() => expect(node.get('web').status?.podIP).toBe('10.0.7.2'));
    await eventually(() => expect(node.container('web')).toMatchObject({ restartCount: 1, ready: true }));
    expect(sandboxes()).toBe(2);
    expect(node.events.filter((event) => event.includes('SandboxChanged'))).toHaveLength(1);
  });

  it('do not wait for an image that they no longer ask for', async () => {
    node.create('web', { containers: [{ name: 'main', image: 'absent:1', imagePullPolicy: 'Never' }] });
    await eventually(() => expect(node.container('web')?.state.waiting?.reason).toBe('ErrImageNeverPull'));
    node.change('web', (pod) => ({ ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((one) => ({ ...one, image: 'busybox:1.35' })) } }));
    await runs('web');
  });

  it('keep no traces of runs that nobody asks for any more', async () => {
    const images = ['busybox:1.35', 'b:2', 'c:3', 'd:4'];
    for (const image of images) node.runtime.images.set(image, node.runtime.images.get('busybox:1.35')!);
    node.create('web', { containers: [container()] });
    await runs('web');
    for (const [attempt, image] of images.entries()) {
      node.change('web', (pod) => ({ ...pod, spec: { ...pod.spec, containers: pod.spec.containers.map((one) => ({ ...one, image })) } }));
      await eventually(() => expect(node.container('web')).toMatchObject({ restartCount: attempt, state: { running: {} } }));
    }
    await eventually(async () => expect((await readdir(join(node.folder, 'web', 'containers', 'main'))).sort()).toEqual(['2', '3']));
    expect((await node.runtime.pods())[0]?.containers.map(({ attempt }) => attempt)).toEqual([3, 2]);
  });

  it('are told to have ended together with their last words, also when they were looked at in between', async () => {
    node.runtime.brief.set('main', async ({ mounts }) => {
      await writeFile(mounts.find(({ containerPath }) => containerPath === '/dev/termination-log')!.hostPath, 'bye');
      // Something else of the pod changes before its words are read.
      setImmediate(() => node.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } })));
      return 0;
    });
    node.create('web', { restartPolicy: 'Never', containers: [container()] });
    await eventually(() => expect(node.get('web').status?.phase).toBe('Succeeded'));
    const ends = node.statuses.flatMap(({ containerStatuses = [] }) => containerStatuses.flatMap(({ state }) => state.terminated ?? []));
    expect(new Set(ends.map(({ message }) => message))).toEqual(new Set(['bye']));
  });

  it('are never told to run when they ended before their start was known, nor ready when their postStart hook has failed', async () => {
    const { inspect } = node.runtime;
    // What is asked of the daemon is answered a moment later, as always; meanwhile something else of the pod changes.
    node.runtime.inspect = async (id) => {
      setImmediate(() => node.change('brief', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } })));
      await new Promise((resolve) => setTimeout(resolve, 20));
      return inspect.call(node.runtime, id);
    };
    node.runtime.brief.set('brief', () => Promise.resolve(3));
    const { startContainer } = node.runtime;
    node.runtime.startContainer = async (config) => {
      const made = await startContainer.call(node.runtime, config);
      return made.name === 'brief' ? { ...made, state: 'running' } : made;
    };
    node.runtime.command = () => ({ exitCode: 5 });
    node.create('brief', { restartPolicy: 'Never', containers: [container('brief')] });
    node.create('hooked', { restartPolicy: 'Never', containers: [container('main', { lifecycle: { postStart: { exec: { command: ['false'] } } } })] });
    await eventually(() => expect(['brief', 'hooked'].map((name) => node.get(name).status?.phase)).toEqual(['Failed', 'Failed']));
    expect(node.statuses.flatMap(({ containerStatuses = [] }) => containerStatuses.filter(({ state }) => state.running !== undefined))).toEqual([]);
  });

  it('whose containers end while a new agent finds them are told to have ended at once, not by its next look', async () => {
    node.create('web', { restartPolicy: 'Never', containers: [container()] });
    await runs('web');
    await node.down();
    const { pods } = node.runtime;
    node.runtime.pods = async () => {
      const found = await pods.call(node.runtime);
      node.runtime.end(node.runtime.container('web', 'main')!.id, 3);
      node.runtime.pods = () => Promise.reject(new Error('busy'));
      return found;
    };
    await node.up();
    await eventually(() => expect(node.container('web')?.state.terminated).toMatchObject({ exitCode: 3 }));
  });

  it('leave no volume behind that was brought up to date when they ended', async () => {
    const keys = { claims: new Map(), configMaps: new Map([['map', new Map([['key', Buffer.from('text')]])]]), secrets: new Map() };
    node.materialsNow = keys;
    node.create('web', { containers: [container('main', { volumeMounts: [{ name: 'map', mountPath: '/map' }] })], volumes: [{ name: 'map', configMap: { name: 'map' } }] });
    await runs('web');
    let answered = false;
    let asked = false;
    node.materials = async () => {
      asked = true;
      await eventually(() => node.runtime.container('web', 'main')?.state !== 'running');
      // As long as it takes to clear a pod away.
      await new Promise((resolve) => setTimeout(resolve, 200));
      answered = true;
      return keys;
    };
    node.manager.workers.get('web')!.refreshVolumes();
    await eventually(() => asked);
    node.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 1 } }));
    await eventually(() => expect(() => node.get('web')).toThrow());
    expect([answered, await readdir(node.folder)]).toEqual([true, []]);
  });

  it('that were refused take no room from others', async () => {
    node.create('large', demands('5'));
    node.create('small', demands('3'));
    await eventually(() => expect(node.get('large').status).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' }));
    await runs('small');
  });

  it('that were refused tell why, and nothing of containers that nobody will make; also after a restart of the agent', async () => {
    const ports = { containers: [container('main', { ports: [{ containerPort: 80, hostPort: 8080 }] })] };
    node.create('first', ports);
    await runs('first');
    node.create('rival', ports);
    const message = "Pod was rejected: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
    const told = { phase: 'Failed', reason: 'NodePorts', message, startTime: expect.any(String), qosClass: 'BestEffort' };
    await eventually(() => expect(node.get('rival').status).toEqual(told));
    const { resourceVersion } = node.get('rival').metadata;
    await node.down();
    await node.up();
    await runs('first');
    node.create('last', { containers: [container()] });
    await runs('last');
    expect(node.get('rival')).toMatchObject({ metadata: { resourceVersion }, status: told });
    expect(node.events.filter((event) => event.startsWith('rival'))).toEqual([expect.stringMatching(/^rival NodePorts: /)]);
  });

  it('that run already go before those that came while the agent was away', async () => {
    node.create('first', demands('3'));
    await runs('first');
    await node.down();
    node.create('second', demands('3'));
    await node.up();
    await eventually(() => expect(node.get('second').status).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' }));
    await runs('first');
  });

  it('say why they wait when the agent starts while the daemon is away', async () => {
    await node.down();
    node.runtime.unavailable = 'the daemon is away';
    await node.up();
    node.create('web', { containers: [container()] });
    expect(node.events).toEqual(['web FailedCreatePodSandBox: Failed to create pod sandbox: the daemon is away']);
  });

  it('are told to have been killed for their memory, also when that is heard after their end', async () => {
    node.create('web', { restartPolicy: 'Never', containers: [container()] });
    await runs('web');
    const { id } = node.runtime.container('web', 'main')!;
    // By what is told, not by a look at all that runs.
    node.runtime.pods = () => Promise.reject(new Error('busy'));
    node.runtime.end(id, 137);
    await eventually(() => expect(node.container('web')?.state.terminated).toMatchObject({ exitCode: 137, reason: 'Error' }));
    node.runtime.tellOom(id);
    await eventually(() => expect(node.container('web')?.state.terminated).toMatchObject({ exitCode: 137, reason: 'OOMKilled' }));
    expect(node.get('web').status?.phase).toBe('Failed');
  });

  it('tell once that they are ended, however often that has to be tried', async () => {
    node.create('web', { containers: [container()] });
    await runs('web');
    node.runtime.unavailable = 'the daemon is away';
    let tries = 0;
    const { stopContainer } = node.runtime;
    node.runtime.stopContainer = (id, graceMs) => {
      tries += 1;
      return stopContainer.call(node.runtime, id, graceMs);
    };
    node.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 5 } }));
    await eventually(() => expect(tries).toBeGreaterThan(1));
    expect(node.events.filter((event) => event.includes('Killing'))).toEqual(['web Killing: Stopping container main']);
    node.runtime.unavailable = undefined;
    await eventually(() => expect(() => node.get('web')).toThrow());
  });

  it('have one grace for all their containers: sidecars, which end last, get what is left of it', async () => {
    node.create('web', { containers: [container()], initContainers: [container('side', { restartPolicy: 'Always' })] });
    await runs('web');
    const { stopContainer } = node.runtime;
    node.runtime.stopContainer = async (id, graceMs) => {
      if (id === node.runtime.container('web', 'main')?.id) await new Promise((resolve) => setTimeout(resolve, 1_000));
      return stopContainer.call(node.runtime, id, graceMs);
    };
    node.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 60 } }));
    await eventually(() => expect(() => node.get('web')).toThrow());
    const graces = new Map(node.runtime.calls.flatMap((call) => (call.startsWith('stop ') ? [[call.split(' ')[1], Number(call.split(' ')[2])]] : [])));
    expect(graces.get('main')).toBeGreaterThan(30_000);
    // The second that the other took is no longer there; timers may be a moment early.
    expect(graces.get('side')).toBeLessThanOrEqual((graces.get('main') ?? 0) - 990);
  });

  it('show secrets from memory, where the agent may mount; two who set up volumes at once do each other no harm', async () => {
    const show = (text: string): void => void (node.materialsNow = { claims: new Map(), configMaps: new Map(), secrets: new Map([['keys', new Map([['a', Buffer.from(text)], ['b', Buffer.from(text)]])]]) });
    show('0');
    node.create('web', { containers: [container('main', { volumeMounts: [{ name: 'keys', mountPath: '/keys' }] })], volumes: [{ name: 'keys', secret: { secretName: 'keys' } }] });
    await runs('web');
    const folder = join(node.folder, 'web', 'volumes', 'keys');
    expect(await mountsBelow(node.folder)).toEqual(process.getuid?.() === 0 ? [folder] : []);
    const worker = node.manager.workers.get('web')!;
    for (let change = 1; change <= 20; change += 1) {
      show(String(change));
      worker.refreshVolumes();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await eventually(async () => {
      expect(await Promise.all(['a', 'b'].map((key) => readFile(join(folder, key), 'utf8')))).toEqual(['20', '20']);
      // The folder before goes after the new one is shown.
      expect((await readdir(folder)).filter((name) => name.startsWith('..2'))).toHaveLength(1);
    });
    node.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString(), deletionGracePeriodSeconds: 1 } }));
    await eventually(() => expect(() => node.get('web')).toThrow());
    expect([await mountsBelow(node.folder), await readdir(node.folder)]).toEqual([[], []]);
  });
});
