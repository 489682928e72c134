import { beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError, compilePolicy, type Service } from '@roundsman/api';
import { array, assert, asyncProperty, boolean, constantFrom, nat, option, record } from 'fast-check';
import { admit } from '../admission/admit.ts';
import type { WriteRequest } from '../admission/outcome.ts';
import { GroupCommit } from '../group-commit.ts';
import { State } from '../state.ts';
import { HostBook } from './hosts.ts';
import { addressBook } from '../testing/addresses.ts';

type Body = { metadata?: object; spec: Partial<Omit<Service['spec'], 'ports'>> & { ports?: object[] } };

/** A cluster that takes writes, and commits them when it comes to it. */
function cluster(settings: Record<string, string> = {}) {
  const namespace = (name: string) => ({ resource: 'namespaces', namespace: '', name, object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: name, resourceVersion: '1', generation: 1, creationTimestamp: 't' }, spec: {} } });
  const state = new State({ head: 1, objects: [namespace('default'), namespace('kube-system')], lastOfResource: new Map() });
  const addresses = addressBook(settings, state);
  const view = { admitted: state.admitted.bind(state), list: state.admittedList.bind(state), limits: { maxBodyBytes: 1, maxQpsPerRunner: 1, maxRequestsPerRound: 1 }, policy: compilePolicy(), now: 0, addresses, hosts: new HostBook(state) };
  const group = new GroupCommit(state, { admit: (write) => admit(write, view), commit: () => new Promise((resolve) => setImmediate(resolve)), committed: () => undefined, settled: () => undefined, failed: () => undefined });
  const send = async (write: Partial<WriteRequest>): Promise<Service> => (await group.submit({ operation: 'create', resource: 'services', namespace: 'default', fieldValidation: 'Strict', dryRun: false, ...write })).object as Service;
  return {
    state,
    send,
    create: (name: string, { metadata, spec }: Body, more: Partial<WriteRequest> = {}) => send({ name, object: { metadata: { name, ...metadata }, spec }, ...more }),
    update: (name: string, spec: Body['spec'], more: Partial<WriteRequest> = {}) => send({ operation: 'update', name, object: { metadata: { name }, spec }, ...more }),
    remove: (name: string) => send({ operation: 'delete', name }),
    book: () => addressBook(settings, state),
  };
}
/** Why a write was refused. */
const refusal = async (write: Promise<unknown>): Promise<string> => {
  const error = await write.then(() => 'nothing was refused', (reason: unknown) => reason);
  return error instanceof ApiError ? error.message.replace(/^.* is invalid: /, '') : String(error);
};
const ports = [{ port: 80 }];
/** Of those that are given only to who asks for them: never the one that somebody was given unasked. */
const keptForNames = '10.96.0.77';
const keptForNumbers = 30_007;

let one: ReturnType<typeof cluster>;
beforeEach(() => {
  one = cluster();
});

describe('addresses of services', () => {
  it('are given from the range, beside those that are kept for who asks by name', async () => {
    const { spec } = await one.create('a', { spec: { ports } });
    expect(spec).toMatchObject({ clusterIPs: [spec.clusterIP], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
    const [, , third = 0, fourth = 0] = spec.clusterIP!.split('.').map(Number);
    expect(spec.clusterIP).toMatch(/^10\.96\./);
    expect(third * 256 + fourth).toBeGreaterThanOrEqual(256);
  });

  it('may be asked for; what is taken or outside is refused in words that everybody knows', async () => {
    await one.create('a', { spec: { clusterIP: '10.96.1.1', ports } });
    expect(await refusal(one.create('b', { spec: { clusterIP: '10.96.1.1', ports } }))).toBe('spec.clusterIPs: Invalid value: []string{"10.96.1.1"}: failed to allocate IP 10.96.1.1: provided IP is already allocated');
    expect(await refusal(one.create('b', { spec: { clusterIP: '10.1.1.1', ports } }))).toContain('failed to allocate IP 10.1.1.1: the provided IP (10.1.1.1) is not in the valid range. The range of valid IPs is 10.96.0.0/16');
    expect(await refusal(one.create('b', { spec: { clusterIP: 'ten', ports } }))).toBe('spec.clusterIPs[0]: Invalid value: "ten": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)');
    expect(await refusal(one.create('b', { spec: { clusterIP: '10.96.0.0', ports } }))).toContain('is not in the valid range');
  });

  it('the address of the cluster’s DNS is for nobody else', async () => {
    expect(await refusal(one.create('b', { spec: { clusterIP: '10.96.0.10', ports } }))).toContain('provided IP is already allocated');
    await expect(one.create('kube-dns', { spec: { clusterIP: '10.96.0.10', ports } }, { namespace: 'kube-system' })).resolves.toMatchObject({ spec: { clusterIP: '10.96.0.10' } });
  });

  it('none for headless ones and for those that are names of others', async () => {
    expect((await one.create('a', { spec: { clusterIP: 'None', selector: { a: 'b' }, ports } })).spec).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
    expect((await one.create('b', { spec: { clusterIP: 'None', ports } })).spec).toMatchObject({ ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' });
    const { spec } = await one.create('c', { spec: { type: 'ExternalName', externalName: 'example.com' } });
    expect(spec).toEqual({ type: 'ExternalName', externalName: 'example.com', sessionAffinity: 'None' });
  });

  it('stay when the service is written again without them, and cannot be changed', async () => {
    const { spec } = await one.create('a', { spec: { ports } });
    expect((await one.update('a', { selector: { a: 'b' }, ports })).spec.clusterIP).toBe(spec.clusterIP);
    expect(await refusal(one.update('a', { clusterIP: keptForNames, ports }))).toBe(`spec.clusterIPs[0]: Invalid value: []string{"${keptForNames}"}: may not change once set`);
    expect(await refusal(one.update('a', { clusterIP: 'None', ports }))).toContain('may not change once set');
  });

  it('are given back by deletion and by becoming a name, and given again when it is one no more', async () => {
    await one.create('a', { spec: { clusterIP: '10.96.1.1', ports } });
    const name = await one.update('a', { type: 'ExternalName', externalName: 'example.com', clusterIP: '10.96.1.1', clusterIPs: ['10.96.1.1'], ports });
    expect(name.spec.clusterIP).toBeUndefined();
    await one.create('b', { spec: { clusterIP: '10.96.1.1', ports } });
    expect((await one.update('a', { type: 'ClusterIP', ports })).spec.clusterIP).toMatch(/^10\.96\./);
    await one.remove('b');
    await expect(one.create('c', { spec: { clusterIP: '10.96.1.1', ports } })).resolves.toBeDefined();
  });

  it('a dry run shows one and takes none', async () => {
    const shown = await one.create('a', { spec: { clusterIP: '10.96.1.1', ports } }, { dryRun: true });
    expect(shown.spec.clusterIP).toBe('10.96.1.1');
    await expect(one.create('b', { spec: { clusterIP: '10.96.1.1', ports } })).resolves.toBeDefined();
  });

  it('end with the range', async () => {
    const small = cluster({ serviceCidrs: '10.96.0.0/28' });
    // Of 16: not the first, not the last, not that of DNS.
    await Promise.all(Array.from({ length: 13 }, (_, index) => small.create(`s${index}`, { spec: { ports } })));
    expect(await refusal(small.create('more', { spec: { ports } }))).toBe('Internal error occurred: failed to allocate a serviceIP: range is full');
  });
});

describe('two families', () => {
  const dual = { podCidrs: '10.244.0.0/16,fd00:10:244::/56', serviceCidrs: '10.96.0.0/16,fd00:10:96::/112' };
  it('are for those that ask for them, and may be left again', async () => {
    const both = cluster(dual);
    expect((await both.create('a', { spec: { ports } })).spec).toMatchObject({ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
    const { spec } = await both.update('a', { ipFamilyPolicy: 'PreferDualStack', ports });
    expect(spec).toMatchObject({ ipFamilies: ['IPv4', 'IPv6'], clusterIPs: [expect.stringMatching(/^10\.96\./), expect.stringMatching(/^fd00:10:96::/)] });
    expect(await refusal(both.create('b', { spec: { clusterIP: spec.clusterIPs![1]!, ports } }))).toContain('provided IP is already allocated');
    const { spec: single } = await both.update('a', { ...(spec as Body['spec']), ipFamilyPolicy: 'SingleStack' });
    expect(single).toMatchObject({ ipFamilies: ['IPv4'], clusterIPs: [spec.clusterIP] });
    await expect(both.create('b', { spec: { clusterIP: spec.clusterIPs![1]!, ports } })).resolves.toMatchObject({ spec: { ipFamilies: ['IPv6'] } });
    expect(await refusal(both.update('b', { ipFamilies: ['IPv4'], ports }))).toContain('spec.clusterIPs[0]: Invalid value');
  });

  it('cannot be required of a cluster of one', async () => {
    expect(await refusal(one.create('a', { spec: { ipFamilyPolicy: 'RequireDualStack', ports } }))).toBe('spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services');
    expect(await refusal(one.create('a', { spec: { ipFamilies: ['IPv6'], ports } }))).toBe('spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster');
    expect((await one.create('a', { spec: { ipFamilyPolicy: 'PreferDualStack', ports } })).spec.ipFamilies).toEqual(['IPv4']);
  });
});

describe('ports on the nodes', () => {
  it('are given to the types that have them, one for both protocols of a number', async () => {
    const { spec } = await one.create('a', { spec: { type: 'NodePort', ports: [{ name: 'u', port: 53, protocol: 'UDP' }, { name: 't', port: 53 }, { name: 'h', port: 80 }] } });
    const [udp, tcp, http] = spec.ports!.map(({ nodePort }) => nodePort!);
    expect([udp === tcp, http === tcp, udp! >= 30_000 && udp! <= 32_767]).toEqual([true, false, true]);
    expect((await one.create('b', { spec: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports } })).spec.ports![0]!.nodePort).toBeUndefined();
  });

  it('may be asked for; what is taken or outside is refused', async () => {
    await one.create('a', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] } });
    expect(await refusal(one.create('b', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] } }))).toBe('spec.ports[0].nodePort: Invalid value: 30100: provided port is already allocated');
    expect(await refusal(one.create('b', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] } }))).toBe('spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767');
    expect(await refusal(one.create('b', { spec: { ports: [{ port: 80, nodePort: 30_101 }] } }))).toBe("spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'");
    expect(await refusal(one.update('a', { type: 'NodePort', ports: [{ name: 'x', port: 80, nodePort: 30_100 }, { name: 'y', port: 81, nodePort: 30_100 }] }))).toContain('Duplicate value: 30100');
  });

  it('are kept by name of the port, changed, and given back', async () => {
    await one.create('a', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] } });
    expect((await one.update('a', { type: 'NodePort', ports: [{ port: 81 }] })).spec.ports![0]!.nodePort).toBe(30_100);
    await one.update('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_200 }] });
    await one.create('b', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_100 }] } });
    const { spec } = await one.update('a', { type: 'ClusterIP', ports: [{ port: 80, nodePort: 30_200 }], externalTrafficPolicy: 'Cluster' });
    expect([spec.ports![0]!.nodePort, spec.externalTrafficPolicy]).toEqual([undefined, undefined]);
    await one.create('c', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30_200 }] } });
  });

  it('one more where load balancers ask whether a node has pods', async () => {
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local' } as const;
    const { spec } = await one.create('a', { spec: { ...local, ports } });
    expect(spec.healthCheckNodePort).not.toBe(spec.ports![0]!.nodePort);
    expect(await refusal(one.update('a', { ...local, ports: [{ port: 80, nodePort: spec.healthCheckNodePort }] }))).toBe(`spec.ports[0].nodePort: Invalid value: ${spec.healthCheckNodePort}: provided port is already allocated`);
    expect(await refusal(one.update('a', { ...local, healthCheckNodePort: keptForNumbers, ports }))).toBe('spec.healthCheckNodePort: Forbidden: field is immutable');
    expect(await refusal(one.create('b', { spec: { ...local, healthCheckNodePort: spec.healthCheckNodePort, ports } }))).toContain(`failed to allocate requested HealthCheck NodePort ${spec.healthCheckNodePort}: provided port is already allocated`);
    expect((await one.update('a', { ...local, ports })).spec.healthCheckNodePort).toBe(spec.healthCheckNodePort);
    expect((await one.update('a', { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', healthCheckNodePort: spec.healthCheckNodePort, ports })).spec.healthCheckNodePort).toBeUndefined();
  });
});

it('nothing is given twice, whatever is written, and a new leader knows what was given', async () => {
  const step = record({
    what: constantFrom('create', 'update', 'delete'), name: constantFrom('a', 'b', 'c', 'd', 'e'), dryRun: boolean(), type: constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
    address: option(nat(13)), port: option(nat(5)), local: boolean(),
  });
  await assert(
    asyncProperty(array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const small = cluster({ serviceCidrs: '10.96.0.0/28', nodePorts: '30000-30005' });
      await Promise.all(
        steps.map(({ what, name, dryRun, type, address, port, local }) => {
          if (what === 'delete') return small.remove(name).catch(() => undefined);
          const spec = {
            type, ...(type === 'ExternalName' ? { externalName: 'example.com' } : { ports: [{ port: 80, ...(port !== null && type !== 'ClusterIP' && { nodePort: 30_000 + port }) }] }),
            ...(address !== null && type !== 'ExternalName' && { clusterIP: `10.96.0.${address + 1}` }), ...(type === 'LoadBalancer' && local && { externalTrafficPolicy: 'Local' as const }),
          } as Body['spec'];
          return (what === 'create' ? small.create(name, { spec }, { dryRun }) : small.update(name, spec, { dryRun })).catch(() => undefined);
        }),
      );
      const services = small.state.list('services') as Service[];
      const addresses = services.flatMap(({ spec }) => spec.clusterIPs ?? []);
      const nodePorts = services.flatMap(({ spec }) => [...(spec.ports ?? []).flatMap(({ nodePort }) => nodePort ?? []), ...(spec.healthCheckNodePort === undefined ? [] : [spec.healthCheckNodePort])]);
      expect([new Set(addresses).size, new Set(nodePorts).size]).toEqual([addresses.length, nodePorts.length]);
      const book = small.book();
      const nobody = { uid: 'nobody', isDns: true };
      for (const address of addresses) expect(book.addressProblem('IPv4', address, nobody)).toBe('provided IP is already allocated');
      for (const port of nodePorts) expect(book.portProblem(port, nobody)).toBe('provided port is already allocated');
      expect(services.every(({ spec }) => spec.type === 'ExternalName' || (spec.clusterIP ?? '') !== '')).toBe(true);
    }),
    { numRuns: 60 },
  );
});
