import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Endpoints, EndpointSlice, KubeObject, Node, Pod, Service } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { TestCluster, unlessGone } from '../testing/cluster.ts';

let cluster: TestCluster;
beforeAll(async () => {
  // More than a process may be held up unnoticed: no node is lost by chance.
  cluster = await TestCluster.start({ ROUNDSMAN_CONTROLLERS_NODE_LOST_MS: '3500' });
  cluster.nodes.join('n1', 'n2');
});
afterAll(() => cluster.stop());
afterEach(async () => {
  cluster.nodes.fate = () => 'runs';
  for (const resource of ['services', 'statefulsets.apps', 'pods']) for (const { metadata } of await cluster.list(resource)) if (metadata.namespace === 'default' && metadata.name !== 'kubernetes') await cluster.delete(resource, metadata.name, { gracePeriodSeconds: 0 }).catch(unlessGone);
  await cluster.until(async () => expect((await slices()).length).toBe(0));
});

const serve = (spec: object, metadata: object = {}): Promise<Service> => cluster.create<Service>({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', ...metadata }, spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }], ...spec } });
const run = (name: string, more: object = {}, labels: object = { app: 'web' }, ports: object[] = []): Promise<Pod> =>
  cluster.create<Pod>({ apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: { containers: [{ name: 'c', image: 'x', ports }], ...more } });
const slices = async (service = 'web'): Promise<(EndpointSlice & KubeObject)[]> => (await cluster.list<EndpointSlice & KubeObject>('endpointslices.discovery.k8s.io')).filter(({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === service);
/** `pod ready serving terminating port`, of all slices. */
const told = async (service = 'web'): Promise<string[]> =>
  (await slices(service)).flatMap(({ endpoints, ports }) => endpoints.map(({ targetRef, conditions: { ready, serving, terminating } }) => `${targetRef?.name} ${ready} ${serving} ${terminating} ${ports.map(({ port }) => port).join('+')}`)).sort();
const tells = (...wanted: string[]): Promise<void> => cluster.until(async () => expect(await told()).toEqual(wanted));

describe('the endpoints of a service', () => {
  it('are its pods: ready, not ready, going, gone; with everything that Kubernetes tells of them', async () => {
    const service = await serve({}, { labels: { tier: 'front' } });
    await cluster.until(async () => expect((await slices()).map(({ endpoints, ports }) => ({ endpoints, ports }))).toEqual([{ endpoints: [], ports: [] }]));
    const a = await run('a', { nodeName: 'n1' });
    cluster.nodes.fate = ({ metadata }) => (metadata.name === 'b' ? 'hangs' : 'runs');
    await run('b');
    await run('other', {}, { app: 'db' });
    await tells('a true true false 8080');
    const [slice] = await slices();
    expect(slice).toMatchObject({
      addressType: 'IPv4', ports: [{ name: '', protocol: 'TCP', port: 8080 }],
      metadata: {
        labels: { 'kubernetes.io/service-name': 'web', 'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io', tier: 'front' },
        ownerReferences: [{ kind: 'Service', name: 'web', uid: service.metadata.uid, controller: true, blockOwnerDeletion: true }],
        annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': expect.stringMatching(/^20/) },
      },
      endpoints: [{ nodeName: 'n1', targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: a.metadata.uid }, addresses: [(await cluster.get<Pod>('pods', 'a'))?.status?.podIP] }],
    });
    await cluster.until(async () => expect(await cluster.get<Endpoints & KubeObject>('endpoints', 'web')).toMatchObject({ subsets: [{ addresses: [{ nodeName: 'n1', targetRef: { name: 'a' } }], ports: [{ port: 8080, protocol: 'TCP' }] }] }));
    // Its end was asked for; it is still there.
    await cluster.edit<Pod>('pods', 'a', ({ metadata: kept }) => void (kept.finalizers = ['example.com/hold']));
    await cluster.delete('pods', 'a');
    await tells('a false true true 8080');
    await cluster.edit<Pod>('pods', 'a', ({ metadata: kept }) => void (kept.finalizers = []));
    await tells();
  });

  it('a pod whose port has another number is told beside the others', async () => {
    await serve({ ports: [{ name: 'http', port: 80, targetPort: 'web' }, { name: 'admin', port: 81, targetPort: 'admin' }] });
    await run('a', {}, { app: 'web' }, [{ name: 'web', containerPort: 8080 }, { name: 'admin', containerPort: 9000 }]);
    await run('b', {}, { app: 'web' }, [{ name: 'web', containerPort: 8181 }]);
    await tells('a true true false 8080+9000', 'b true true false 8181');
    const subsets = async () => (await cluster.get<Endpoints & KubeObject>('endpoints', 'web'))?.subsets?.map(({ addresses, ports }) => [addresses?.map(({ targetRef }) => targetRef?.name), ports?.map(({ name, port }) => `${name} ${port}`)]);
    await cluster.until(async () => expect([...((await subsets()) ?? [])].sort()).toEqual([[['a'], ['http 8080', 'admin 9000']], [['b'], ['http 8181']]]));
  });

  it('of a headless service have the names of a stateful set, also while they are not ready where it says so', async () => {
    cluster.nodes.fate = () => 'hangs';
    await serve({ clusterIP: 'None', publishNotReadyAddresses: true });
    await cluster.create({ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' }, spec: { serviceName: 'web', selector: { matchLabels: { app: 'web' } }, template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'x' }] } } } });
    const pod = await cluster.until(async () => {
      const found = await cluster.get<Pod>('pods', 'db-0');
      expect(found).toBeDefined();
      return found!;
    });
    // It has an address, and is not ready.
    await cluster.write({ operation: 'updateStatus', resource: 'pods', namespace: 'default', name: 'db-0', object: { ...pod, metadata: { name: 'db-0', namespace: 'default' }, status: { ...pod.status, phase: 'Running', podIP: '10.244.9.9', podIPs: [{ ip: '10.244.9.9' }] } } });
    await tells('db-0 true false false 8080');
    const [slice] = await slices();
    expect(slice?.endpoints[0]?.hostname).toBe('db-0');
    expect(slice?.metadata.labels?.['service.kubernetes.io/headless']).toBe('');
  });

  it('leave when labels or the selector do, and go with the service', async () => {
    await serve({});
    await run('a');
    await tells('a true true false 8080');
    await cluster.edit<Pod>('pods', 'a', ({ metadata }) => void (metadata.labels = { app: 'db' }));
    await tells();
    await cluster.edit<Service>('services', 'web', ({ spec }) => void (spec.selector = { app: 'db' }));
    await tells('a true true false 8080');
    await cluster.delete('services', 'web');
    await cluster.until(async () => {
      expect(await slices()).toEqual([]);
      expect(await cluster.get('endpoints', 'web')).toBeUndefined();
    });
  });

  it('stay without a break when a service loses its selector: from then on they are a person’s', async () => {
    await serve({});
    await run('a');
    await tells('a true true false 8080');
    await cluster.until(async () => expect(await cluster.get<Endpoints & KubeObject>('endpoints', 'web')).toMatchObject({ subsets: [{ addresses: [{ targetRef: { name: 'a' } }] }] }));
    const there = new Map((await slices()).map(({ metadata, endpoints }) => [metadata.name, endpoints.length]));
    let fewest = 1;
    const watch = await cluster.bus.subscribe(messages.change, {}, ({ payload: { type, resource, name, object } }) => {
      if (resource !== 'endpointslices.discovery.k8s.io') return;
      there.set(name, type === 'DELETED' ? 0 : (object as unknown as EndpointSlice).endpoints.length);
      fewest = Math.min(fewest, [...there.values()].reduce((sum, count) => sum + count, 0));
    });
    await cluster.edit<Service>('services', 'web', ({ spec }) => void delete spec.selector);
    await cluster.until(async () => {
      expect((await slices()).map(({ metadata, endpoints }) => [metadata.labels?.['endpointslice.kubernetes.io/managed-by'], metadata.labels?.['endpoints.kubernetes.io/managed-by'], metadata.ownerReferences?.[0]?.kind, endpoints.map(({ targetRef }) => targetRef?.name)])).toEqual([['endpointslicemirroring-controller.k8s.io', undefined, 'Endpoints', ['a']]]);
      expect((await cluster.get<Endpoints & KubeObject>('endpoints', 'web'))?.metadata.labels ?? {}).toEqual({});
    });
    expect(fewest).toBe(1);
    await watch.stop();
  });

  it('on a node that falls silent leave when its status says so, and are back once when it is', async () => {
    await serve({});
    await run('a', { nodeName: 'n1' });
    await run('b', { nodeName: 'n2' });
    await tells('a true true false 8080', 'b true true false 8080');
    cluster.nodes.lose('n1');
    const lost = async () => (await cluster.get<Node>('nodes', 'n1'))?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
    await cluster.until(async () => expect(await lost()).toBe('Unknown'));
    // By the change: all Services are looked at again only every minute.
    await tells('a false false false 8080', 'b true true false 8080');
    const writes = Number((await slices())[0]?.metadata.generation);
    // Heard first: told of before, and the node late, the pod would rightly be lost once more.
    cluster.nodes.join('n1');
    await cluster.until(async () => expect(await lost()).toBe('True'));
    cluster.nodes.rejoin('n1');
    await tells('a true true false 8080', 'b true true false 8080');
    expect(Number((await slices())[0]?.metadata.generation)).toBe(writes + 1);
  });
});
