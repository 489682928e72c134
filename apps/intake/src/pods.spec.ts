import 'reflect-metadata';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { agentIdentity, messages, serviceIdentity, type Bus, type Write } from '@roundsman/bus';
import { makeLogger, runServices, type RunningServices } from '@roundsman/service';
import { migrateStore, openStore, type Store } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { service } from './index.ts';

let postgres: TestPostgres;
let nats: TestNats;
let gateway: Bus;
let agent: Bus;
let running: RunningServices;
let store: Store;

beforeAll(async () => {
  // With the product's own permissions: who may ask what is part of what is tested.
  [postgres, nats] = await Promise.all([startPostgres({ prepare: migrateStore }), startNats({ identities: [serviceIdentity('intake'), serviceIdentity('gateway'), agentIdentity('n1'), agentIdentity('n2')] })]);
});
afterAll(() => Promise.all([postgres.stop(), nats.stop()]));

const log = makeLogger({ level: 'warn', format: 'json', stream: { write: () => undefined } });
let url: string;
const startIntake = async (): Promise<void> => {
  running = await runServices([{ definition: service }], { env: {}, log, databaseUrl: url, connect: (identity) => nats.connect(identity) });
};
beforeEach(async () => {
  url = await postgres.createDatabase();
  await startIntake();
  store = openStore(url);
  [gateway, agent] = await Promise.all([nats.connect('gateway'), nats.connect('agent-n1')]);
});
afterEach(async () => {
  await Promise.all([gateway.close(), agent.close(), store.close()]);
  await running.stop();
});

interface Stored {
  readonly kind: string;
  readonly metadata: { name: string; namespace: string; uid: string; resourceVersion: string; generation?: number; deletionTimestamp?: string; deletionGracePeriodSeconds?: number; finalizers?: string[] };
  readonly spec: Record<string, unknown>;
  readonly status: Record<string, unknown> & { phase: string; conditions?: { type: string; status: string; reason?: string }[] };
}
const write = async (request: Write): Promise<Stored> => (await gateway.request(messages.write, {}, { user: 'ada', ...request })).object as unknown as Stored;
const at = (name: string) => ({ resource: 'pods', namespace: 'default', name });
const container = { name: 'c', image: 'busybox' };
const makePod = (name: string, more: { metadata?: object; spec?: object } = {}): Promise<Stored> =>
  write({ operation: 'create', resource: 'pods', namespace: 'default', object: { metadata: { name, ...more.metadata }, spec: { containers: [container], ...more.spec } } });
const bind = (name: string, node: string, more: Partial<Write> = {}): Promise<Stored> => write({ operation: 'bind', ...at(name), node, ...more });
const remove = (name: string, more: Partial<Write> = {}): Promise<Stored> => write({ operation: 'delete', ...at(name), ...more });
const nodePods = async (node = 'n1', seen?: number) => agent.request(messages.nodePods, { node }, seen === undefined ? {} : { seen });
const podNamed = async (name: string): Promise<Stored | undefined> => ((await nodePods()).pods as unknown as Stored[]).find(({ metadata }) => metadata.name === name);
const tell = (pod: Stored, status: object, node = 'n1'): Promise<unknown> =>
  agent.request(messages.nodeWrite, { node }, { operation: 'podStatus', namespace: 'default', name: pod.metadata.name, uid: pod.metadata.uid, status: status as Record<string, unknown> });
const gone = (pod: Stored): Promise<unknown> => agent.request(messages.nodeWrite, { node: 'n1' }, { operation: 'podGone', namespace: 'default', name: pod.metadata.name, uid: pod.metadata.uid });
const isRunning = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const secondsFrom = (time: string | undefined, begun: number): number => (Date.parse(time ?? '') - begun) / 1000;

describe('binding', () => {
  it('puts a pod on a node once', async () => {
    const made = await makePod('p');
    await expect(bind('p', 'n1', { preconditions: { uid: 'another' } })).rejects.toMatchObject({ code: 409 });
    await expect(bind('p', '')).rejects.toMatchObject({ code: 422, message: 'Binding "p" is invalid: target.name: Required value' });
    const bound = await bind('p', 'n1', { preconditions: { uid: made.metadata.uid, resourceVersion: made.metadata.resourceVersion } });
    expect(bound.spec['nodeName']).toBe('n1');
    expect(bound.status.conditions).toContainEqual(expect.objectContaining({ type: 'PodScheduled', status: 'True', lastTransitionTime: expect.stringMatching(/Z$/) }));
    await expect(bind('p', 'n2')).rejects.toMatchObject({ code: 409, message: 'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"' });
  });
  it('by two at the same time is done by one', async () => {
    await makePod('p');
    const outcomes = await Promise.allSettled([bind('p', 'n1'), bind('p', 'n2')]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });
  it('waits for gates and refuses what ends', async () => {
    await makePod('gated', { spec: { schedulingGates: [{ name: 'example.com/x' }] } });
    await expect(bind('gated', 'n1')).rejects.toMatchObject({ code: 409, message: expect.stringContaining('has non-empty .spec.schedulingGates') });
    await makePod('ending', { metadata: { finalizers: ['example.com/x'] } });
    await remove('ending');
    await expect(bind('ending', 'n1')).rejects.toMatchObject({ message: expect.stringContaining('pod ending is being deleted, cannot be assigned to a host') });
  });
});

describe('deletion', () => {
  it('of a pod on no node, or one that has ended, takes effect at once', async () => {
    await makePod('p');
    expect((await remove('p')).metadata).toMatchObject({ deletionGracePeriodSeconds: 0 });
    await expect(remove('p')).rejects.toMatchObject({ code: 404 });
    const ended = await makePod('ended', { spec: { nodeName: 'n1' } });
    await tell(ended, { phase: 'Succeeded' });
    await remove('ended');
    expect(await podNamed('ended')).toBeUndefined();
  });
  it('of a bound pod gives it time, which can only become shorter, until its agent says that it is gone', async () => {
    const begun = Date.now();
    const pod = await makePod('p', { spec: { nodeName: 'n1', terminationGracePeriodSeconds: 40 } });
    await expect(gone(pod)).rejects.toMatchObject({ code: 409 });
    const marked = await remove('p');
    expect(marked.metadata.deletionGracePeriodSeconds).toBe(40);
    expect(secondsFrom(marked.metadata.deletionTimestamp, begun)).toBeGreaterThan(35);
    expect((await remove('p', { gracePeriodSeconds: 60 })).metadata).toEqual(marked.metadata);
    expect((await remove('p')).metadata).toEqual(marked.metadata);
    const shorter = await remove('p', { gracePeriodSeconds: 5 });
    expect(shorter.metadata.deletionGracePeriodSeconds).toBe(5);
    expect(secondsFrom(shorter.metadata.deletionTimestamp, Date.parse(marked.metadata.deletionTimestamp!))).toBe(-35);
    // The last it says; an update of what is being deleted must not end it.
    await tell(pod, { phase: 'Succeeded' });
    expect(await podNamed('p')).toMatchObject({ status: { phase: 'Succeeded' } });
    await gone(pod);
    await expect(gone(pod)).rejects.toMatchObject({ code: 404 });
    expect(await podNamed('p')).toBeUndefined();
  });
  it('with grace 0 takes effect at once; finalizers hold', async () => {
    await makePod('p', { spec: { nodeName: 'n1' } });
    await remove('p', { gracePeriodSeconds: 0 });
    expect(await podNamed('p')).toBeUndefined();
    const held = await makePod('held', { metadata: { finalizers: ['example.com/x'] }, spec: { nodeName: 'n1' } });
    await remove('held', { gracePeriodSeconds: 7 });
    await write({ operation: 'update', ...at('held'), object: { ...(await podNamed('held'))!, metadata: { ...held.metadata, resourceVersion: undefined, finalizers: [] } } as never });
    expect(await podNamed('held')).toMatchObject({ metadata: { deletionGracePeriodSeconds: 7 } });
    await gone(held);
    expect(await podNamed('held')).toBeUndefined();
    const ending = await makePod('ending', { metadata: { finalizers: ['example.com/x'] }, spec: { nodeName: 'n1' } });
    await remove('ending');
    await gone(ending);
    expect((await podNamed('ending'))?.metadata).toMatchObject({ deletionGracePeriodSeconds: 0, finalizers: ['example.com/x'] });
    await write({ operation: 'update', ...at('ending'), object: { ...(await podNamed('ending'))!, metadata: { name: 'ending', finalizers: [] } } as never });
    expect(await podNamed('ending')).toBeUndefined();
  });
  it('says by finalizers what becomes of dependents', async () => {
    const policies: [Write['propagationPolicy'], string[] | undefined][] = [['Foreground', ['foregroundDeletion']], ['Orphan', ['orphan']], ['Background', undefined]];
    for (const [propagationPolicy, finalizers] of policies) {
      await write({ operation: 'create', resource: 'configmaps', namespace: 'default', object: { metadata: { name: 'owner' } } });
      const left = await write({ operation: 'delete', resource: 'configmaps', namespace: 'default', name: 'owner', propagationPolicy });
      expect(left.metadata.finalizers).toEqual(finalizers);
      if (finalizers === undefined) continue;
      expect(left.metadata.deletionTimestamp).toBeDefined();
      await write({ operation: 'update', resource: 'configmaps', namespace: 'default', name: 'owner', object: { metadata: { name: 'owner', finalizers: [] } } });
    }
  });
  it('of a namespace waits for the ends of its pods', async () => {
    await write({ operation: 'create', resource: 'namespaces', object: { metadata: { name: 'shop' } } });
    const pod = await write({ operation: 'create', resource: 'pods', namespace: 'shop', object: { metadata: { name: 'p' }, spec: { nodeName: 'n1', containers: [container] } } });
    await write({ operation: 'delete', resource: 'namespaces', name: 'shop' });
    await eventually(async () => expect((await podNamed('p'))?.metadata.deletionGracePeriodSeconds).toBe(30));
    await eventually(async () =>
      expect(await store.get('namespaces', undefined, 'shop')).toMatchObject({
        status: { phase: 'Terminating', conditions: expect.arrayContaining([expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'True', message: 'Some resources are remaining: pods. has 1 resource instances' })]) },
      }),
    );
    await agent.request(messages.nodeWrite, { node: 'n1' }, { operation: 'podGone', namespace: 'shop', name: 'p', uid: pod.metadata.uid });
    await eventually(async () => expect(await store.get('namespaces', undefined, 'shop')).toBeUndefined());
  });
});

describe('eviction', () => {
  const budgets = 'poddisruptionbudgets.policy';
  const budget = async (name: string, status: object, spec: object = {}): Promise<void> => {
    await write({ operation: 'create', resource: budgets, namespace: 'default', object: { metadata: { name }, spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } }, ...spec } } });
    await write({ operation: 'updateStatus', resource: budgets, namespace: 'default', name, object: { status: { observedGeneration: 1, expectedPods: 2, ...status } } });
  };
  const evict = (name: string, more: Partial<Write> = {}): Promise<Stored> => write({ operation: 'evict', ...at(name), ...more });
  const web = async (name: string, ready = true): Promise<Stored> => {
    const pod = await makePod(name, { metadata: { labels: { app: 'web' } }, spec: { nodeName: 'n1' } });
    await tell(pod, ready ? isRunning : { phase: 'Running' });
    return pod;
  };

  it('without a budget deletes the pod, and says why it went', async () => {
    await web('a');
    await evict('a', { dryRun: true });
    expect((await podNamed('a'))?.metadata.deletionTimestamp).toBeUndefined();
    await evict('a', { gracePeriodSeconds: 3 });
    expect(await podNamed('a')).toMatchObject({ metadata: { deletionGracePeriodSeconds: 3 }, status: { conditions: expect.arrayContaining([expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' })]) } });
  });
  it('takes from the budget in the same transaction, and no more than it has', async () => {
    await Promise.all([web('a'), web('b')]);
    await budget('b', { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1 });
    const outcomes = await Promise.allSettled([evict('a'), evict('b')]);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(refused[0]!.reason).toMatchObject({
      code: 429,
      message: "Cannot evict pod as it would violate the pod's disruption budget.",
      body: { reason: 'TooManyRequests', details: { causes: [{ reason: 'DisruptionBudget', message: 'The disruption budget b needs 1 healthy pods and has 2 currently' }] } },
    });
    const evicted = outcomes[0]!.status === 'fulfilled' ? 'a' : 'b';
    expect((await store.get(budgets, 'default', 'b'))?.status).toMatchObject({ disruptionsAllowed: 0, disruptedPods: { [evicted]: expect.stringMatching(/Z$/) }, conditions: [expect.objectContaining({ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods' })] });
  });
  it('of a pod that is not ready is free while enough others are', async () => {
    await web('a', false);
    await budget('b', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1 });
    await evict('a');
    expect((await podNamed('a'))?.metadata.deletionTimestamp).toBeDefined();
    await web('c', false);
    await write({ operation: 'updateStatus', resource: budgets, namespace: 'default', name: 'b', object: { status: { observedGeneration: 1, expectedPods: 2, disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 1 } } });
    await expect(evict('c')).rejects.toMatchObject({ code: 429 });
    await makePod('pending', { metadata: { labels: { app: 'web' } } });
    await evict('pending');
  });
  it('waits for a budget that its controller has not seen, and refuses two', async () => {
    await web('a');
    await write({ operation: 'create', resource: budgets, namespace: 'default', object: { metadata: { name: 'b' }, spec: { minAvailable: 1, selector: {} } } });
    await expect(evict('a')).rejects.toMatchObject({ code: 429, body: { details: { retryAfterSeconds: 10, causes: [{ message: 'The disruption budget b is still being processed by the server.' }] } } });
    await budget('b2', {});
    await expect(evict('a')).rejects.toMatchObject({ code: 500, message: 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.' });
  });
});

describe('new pods', () => {
  it('get their priority, account and patience', async () => {
    const { spec } = await makePod('p');
    expect(spec).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority', serviceAccountName: 'default', serviceAccount: 'default' });
    expect(spec['tolerations']).toEqual(['not-ready', 'unreachable'].map((state) => ({ key: `node.kubernetes.io/${state}`, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 })));
    expect((await makePod('critical', { spec: { priorityClassName: 'system-node-critical' } })).spec['priority']).toBe(2_000_001_000);
    const classes = 'priorityclasses.scheduling.k8s.io';
    await write({ operation: 'create', resource: classes, object: { metadata: { name: 'usual' }, value: 7, globalDefault: true, preemptionPolicy: 'Never' } });
    expect((await makePod('usual')).spec).toMatchObject({ priorityClassName: 'usual', priority: 7, preemptionPolicy: 'Never' });
    await expect(write({ operation: 'create', resource: classes, object: { metadata: { name: 'other' }, value: 8, globalDefault: true } })).rejects.toMatchObject({ code: 403, message: expect.stringContaining('PriorityClass usual is already marked as default. Only one default can exist') });
  });
  it('are refused what is not there', async () => {
    await expect(makePod('p', { spec: { runtimeClassName: 'kata' } })).rejects.toMatchObject({ code: 403, message: 'pods "p" is forbidden: pod rejected: RuntimeClass "kata" not found' });
    await expect(makePod('p', { spec: { priorityClassName: 'foo' } })).rejects.toMatchObject({ code: 403, message: 'pods "p" is forbidden: no PriorityClass with name foo was found' });
    await expect(makePod('p', { spec: { priority: 5 } })).rejects.toMatchObject({ code: 403, message: expect.stringContaining('the integer value of priority (5) must not be provided in pod spec') });
    await expect(makePod('p', { spec: { serviceAccountName: 'bot' } })).rejects.toMatchObject({ code: 403, message: 'pods "p" is forbidden: error looking up service account default/bot: serviceaccount "bot" not found' });
  });
});

describe('agents', () => {
  it('hear every change of their pods, one after the other, also right after the binding and at the end', async () => {
    const heard: { type: string; version: number; previousOfNode: number }[] = [];
    await agent.subscribe(messages.nodePod, { node: 'n1' }, ({ payload: { type, version, previousOfNode } }) => void heard.push({ type, version, previousOfNode }));
    await Promise.all([makePod('p'), makePod('other', { spec: { nodeName: 'n2' } })]);
    const pod = await bind('p', 'n1');
    await tell(pod, isRunning);
    await remove('p', { gracePeriodSeconds: 3 });
    await gone(pod);
    await eventually(() => expect(heard.map(({ type }) => type)).toEqual(['MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED']));
    expect(heard.map(({ previousOfNode }) => previousOfNode)).toEqual([0, ...heard.slice(0, -1).map(({ version }) => version)]);
    const { version, pods } = await nodePods('n1', heard.at(-1)!.version);
    expect([version, pods]).toEqual([heard.at(-1)!.version, undefined]);
    expect((await nodePods('n1', 1)).pods).toEqual([]);
  });
  it('ask for all of their pods, also after intake has started again', async () => {
    const pod = await makePod('p', { spec: { nodeName: 'n1' } });
    await makePod('other', { spec: { nodeName: 'n2' } });
    const before = await nodePods();
    expect(before.pods).toEqual([pod]);
    await running.stop();
    await startIntake();
    const after = await nodePods('n1', before.version - 1);
    expect(after.pods).toEqual([pod]);
    expect((await nodePods('n1', after.version)).pods).toBeUndefined();
  });
  it('write the status of their own pods only, and keep what others know', async () => {
    const pod = await makePod('p', { spec: { nodeName: 'n1' } });
    const other = await makePod('other', { spec: { nodeName: 'n2' } });
    await write({ operation: 'updateStatus', ...at('p'), object: { status: { ...pod.status, conditions: [{ type: 'DisruptionTarget', status: 'True' }] } } });
    await tell(pod, isRunning);
    expect((await podNamed('p'))?.status).toMatchObject({ phase: 'Running', conditions: [expect.objectContaining({ type: 'Ready' }), expect.objectContaining({ type: 'DisruptionTarget' })] });
    await expect(tell(other, isRunning)).rejects.toMatchObject({ code: 403, message: expect.stringContaining('node "n1" can only act on pods with spec.nodeName set to itself') });
    await expect(tell(pod, isRunning, 'n2')).rejects.toThrow(/Permissions Violation for Publish/);
    await expect(tell({ ...pod, metadata: { ...pod.metadata, uid: 'older' } }, isRunning)).rejects.toMatchObject({ code: 404 });
    // What the scheduler and intake decide is not the agent's to say.
    const { qosClass } = pod.status;
    await tell(pod, { ...isRunning, qosClass: 'Guaranteed', nominatedNodeName: 'n2', resize: 'Proposed' });
    expect((await podNamed('p'))?.status).toMatchObject({ qosClass });
    expect(Object.keys((await podNamed('p'))!.status)).not.toEqual(expect.arrayContaining(['nominatedNodeName']));
    await tell(pod, { phase: 'Failed' });
    await expect(tell(pod, isRunning)).rejects.toMatchObject({ code: 422, message: expect.stringContaining('status.phase') });
  });
  it('tell events of themselves and their pods, replaced by name', async () => {
    const pod = await makePod('p', { spec: { nodeName: 'n1' } });
    const other = await makePod('other', { spec: { nodeName: 'n2' } });
    const event = (name: string, involvedObject: object, count = 1, host = 'n1'): Promise<{ object?: unknown }> =>
      agent.request(messages.nodeWrite, { node: 'n1' }, { operation: 'event', event: { metadata: { name, namespace: 'default' }, involvedObject, reason: 'Started', source: { component: 'kubelet', host }, count } });
    const about = ({ metadata }: Stored): object => ({ kind: 'Pod', namespace: 'default', name: metadata.name, uid: metadata.uid });
    await event('e', about(pod));
    expect(await event('e', about(pod), 2)).toMatchObject({ object: { count: 2, kind: 'Event' } });
    await event('node', { kind: 'Node', name: 'n1' });
    await expect(event('x', about(other))).rejects.toMatchObject({ code: 403 });
    await expect(event('x', { ...about(other), uid: undefined })).rejects.toMatchObject({ code: 403, message: expect.stringContaining('must say by its uid which pod it tells of') });
    await event('earlier', { ...about(other), uid: 'one-before' });
    await expect(event('x', { kind: 'Node', name: 'n2' })).rejects.toMatchObject({ code: 403 });
    await expect(event('x', about(pod), 1, 'n2')).rejects.toMatchObject({ code: 403 });
    await expect(event('x', { kind: 'Secret', namespace: 'default', name: 's' })).rejects.toMatchObject({ code: 403 });
  });
  it('get the objects that a pod of theirs refers to, and no others', async () => {
    const names = ['env', 'from', 'volume', 'projected', 'pull', 'other'];
    for (const name of names) {
      await write({ operation: 'create', resource: 'secrets', namespace: 'default', object: { metadata: { name }, stringData: { key: name } } });
      await write({ operation: 'create', resource: 'configmaps', namespace: 'default', object: { metadata: { name }, data: { key: name } } });
    }
    const spec = {
      nodeName: 'n1',
      initContainers: [{ name: 'i', image: 'x', envFrom: [{ secretRef: { name: 'from' } }, { configMapRef: { name: 'from' } }] }],
      containers: [{ ...container, env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env', key: 'key' } } }, { name: 'B', valueFrom: { configMapKeyRef: { name: 'missing', key: 'key', optional: true } } }] }],
      volumes: [{ name: 's', secret: { secretName: 'volume' } }, { name: 'm', configMap: { name: 'volume' } }, { name: 'p', projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'projected' } }] } }],
      imagePullSecrets: [{ name: 'pull' }],
    };
    const pod = await makePod('p', { spec });
    const found = await agent.request(messages.nodeMaterials, { node: 'n1' }, { namespace: 'default', name: 'p', uid: pod.metadata.uid });
    expect(found.secrets.map(({ metadata }) => metadata.name).sort()).toEqual(['env', 'from', 'projected', 'pull', 'volume']);
    expect(found.secrets[0]).toHaveProperty('data.key');
    expect(found.configMaps.map(({ metadata }) => metadata.name).sort()).toEqual(['from', 'projected', 'volume']);
    const other = await makePod('q', { spec: { ...spec, nodeName: 'n2' } });
    await expect(agent.request(messages.nodeMaterials, { node: 'n1' }, { namespace: 'default', name: 'q', uid: other.metadata.uid })).rejects.toMatchObject({ code: 403 });
  });
  it('get more than one message carries in pages', async () => {
    const large = 'x'.repeat(200_000);
    const names = Array.from({ length: 5 }, (_, index) => `large-${index}`);
    for (const name of names) {
      await write({ operation: 'create', resource: 'secrets', namespace: 'default', object: { metadata: { name }, stringData: { a: large, b: large, c: large } } });
      await write({ operation: 'create', resource: 'configmaps', namespace: 'default', object: { metadata: { name }, data: { a: large, b: large, c: large, d: large } } });
      const volumes = names.flatMap((of) => [{ name: `s-${of}`, secret: { secretName: of } }, { name: `c-${of}`, configMap: { name: of } }]);
      await makePod(name, { metadata: { annotations: { large } }, spec: { nodeName: 'n1', volumes } });
    }
    const { uid } = (await podNamed('large-0'))!.metadata;
    const found: string[] = [];
    for (let after: string | undefined = ''; after !== undefined; ) {
      const page: { configMaps: { metadata: { name: string } }[]; secrets: { metadata: { name: string } }[]; next?: string | undefined } = await agent.request(messages.nodeMaterials, { node: 'n1' }, { namespace: 'default', name: 'large-0', uid, after });
      found.push(...page.configMaps.map(({ metadata }) => `c ${metadata.name}`), ...page.secrets.map(({ metadata }) => `s ${metadata.name}`));
      after = page.next;
    }
    expect(found).toEqual([...names.map((name) => `c ${name}`), ...names.map((name) => `s ${name}`)]);
    const first = await nodePods();
    const last = await agent.request(messages.nodePods, { node: 'n1' }, { after: first.next! });
    expect([...first.pods!, ...last.pods!].map(({ metadata }) => metadata.name)).toEqual(names);
    expect([first.version, last.next]).toEqual([last.version, undefined]);
  });
  it('read nothing else', async () => {
    await expect(agent.request(messages.get, {}, { resource: 'nodes', name: 'n1' })).rejects.toThrow(/Permissions Violation for Publish/);
    await expect(agent.request(messages.nodePods, { node: 'n2' }, {})).rejects.toThrow(/Permissions Violation for Publish/);
  });
});
