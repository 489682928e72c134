import { describe, expect, it } from '@jest/globals';
import { roundSpecSchema, workOrderSchema, type RoundSpec } from '@roundsman/api';
import type { Task } from './caches.ts';
import type { Carrier, Expected } from './carrier.ts';
import type { PlannedRound } from './plan.ts';
import { roundObject, workOrders } from './round-object.ts';

const target = { ipv4: true, ipv6: false, endpoint: true, multusInterface: false, clusterIP: false, nodePort: false, loadBalancer: false, ingress: false };
const taskOf = (asked: object): Task => ({
  apiVersion: 'roundsman.io/v1',
  kind: 'NetReach',
  metadata: { name: 'mesh', namespace: 'shop', uid: '0123456789', resourceVersion: '1', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z', annotations: { 'roundsman.io/cancel': 'c1' } },
  spec: {
    suspend: false, schedule: { roundNumber: 1 }, request: { durationInSecond: 3, qps: 5, perRequestTimeoutInMS: 400 }, expect: { successRate: 0.9, meanAccessDelayInMs: 100, statusCode: 200 }, target: { ...target, ...asked },
  } as Task['spec'],
});
const planned: PlannedRound = { number: 4, trigger: 'schedule', startMs: 1000, deadlineMs: 61_000, skipped: 2, ledger: { lastNumber: 4, scheduled: 3, lastScheduledMs: 1000, handledRunNow: 'r1', generation: 2 } };
const runner = (name: string, node: string, more: Partial<Expected> = {}): Expected => ({ runner: name, node, coming: false, addresses: ['10.0.0.1', 'fd00::1'], ports: { http: 8080, https: 8443, dns: 8053, dot: 8853, udp: 8007 }, ...more });
const carrier = (runners: Expected[], more: Partial<Carrier> = {}): Carrier => ({ runtime: 'netreach-mesh-0123456789', fromMs: 0, waitedFor: false, runners, paths: undefined, capabilities: { workloads: true }, reasons: {}, ...more });
const runners = [runner('a', 'node-1', { pod: 'a-x' }), runner('b', 'node-2'), runner('c', 'node-3', { notReady: 'no heartbeat since 2026-01-01T00:00:00Z' })];
const paths = {
  services: [{ family: 'v4' as const, name: 's-v4', port: 80, clusterIP: '10.96.0.9', nodePort: 30_080 }],
  nodes: [{ name: 'node-1', addresses: [{ family: 'v4' as const, address: '172.18.0.2' }] }],
  ingress: { name: 'i', host: 'h', path: '/', tls: false, addresses: [] },
};

describe('a Round and its work', () => {
  it('lists every runner, those not ready with the reason, and carries the ledger', () => {
    const { metadata, spec } = roundObject(taskOf({}), planned, carrier(runners));
    expect(() => roundSpecSchema.parse(spec)).not.toThrow();
    expect(spec.runtime).toBe('netreach-mesh-0123456789');
    expect(spec.runners).toEqual([
      { runner: 'a', node: 'node-1', pod: 'a-x', addresses: ['10.0.0.1'], ports: { http: 8080 } },
      { runner: 'b', node: 'node-2', addresses: ['10.0.0.1'], ports: { http: 8080 } },
      { runner: 'c', node: 'node-3', notReady: 'no heartbeat since 2026-01-01T00:00:00Z' },
    ]);
    expect(metadata.name).toBe('netreach-mesh-01234567-4');
    expect(metadata.annotations).toEqual({
      'roundsman.io/scheduled-rounds': '3', 'roundsman.io/last-scheduled-start': '1970-01-01T00:00:01.000Z', 'roundsman.io/run-now': 'r1', 'roundsman.io/cancel': 'c1', 'roundsman.io/skipped-rounds': '2',
    });
    expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'NetReach', uid: '0123456789' });
  });

  it('is whole: its work needs nothing else', () => {
    const { spec } = roundObject(taskOf({}), planned, carrier(runners));
    const order = workOrders(spec)(spec.runners[1] as RoundSpec['runners'][number]);
    expect(workOrderSchema.parse(order)).toEqual(order);
    expect(order).toMatchObject({ runner: 'b', round: 4, roundStart: '1970-01-01T00:00:01.000Z', deadline: '1970-01-01T00:01:01.000Z', request: { durationMs: 3000, qps: 5, timeoutMs: 400 }, expect: { successRate: 0.9, meanAccessDelayInMs: 100 }, needsMaterials: false });
    expect(order.expect).not.toHaveProperty('statusCode');
    expect(order.targets).toHaveLength(2);
  });

  it('copies of the ways and interfaces those that the task asks for', () => {
    const interfaces = [{ name: 'net1', family: 'v4' as const, address: '10.8.0.8' }];
    const spec = (asked: object): RoundSpec => roundObject(taskOf(asked), planned, carrier([runner('a', 'node-1', { interfaces })], { paths })).spec;
    expect(spec({})).not.toHaveProperty('paths');
    expect(spec({}).runners[0]).not.toHaveProperty('interfaces');
    expect(spec({ clusterIP: true }).paths).toEqual({ services: paths.services });
    expect(spec({ nodePort: true }).paths).toEqual({ services: paths.services, nodes: paths.nodes });
    expect(spec({ ingress: true }).paths).toEqual({ services: [], ingress: paths.ingress });
    expect(spec({ ingress: true }).notTested).toEqual(['spec.target.ingress over IPv4: Ingress i has no address: no ingress controller serves it']);
    expect(spec({ endpoint: false, multusInterface: true }).runners[0]).toMatchObject({ interfaces, addresses: [], ports: { http: 8080 } });
  });

  it('of a missed round has nobody to report and nothing to say of targets', () => {
    const { spec } = roundObject(taskOf({ ingress: true }), { ...planned, trigger: 'missed' }, carrier(runners, { paths }));
    expect(spec).toMatchObject({ trigger: 'missed', runners: [] });
    expect(spec).not.toHaveProperty('notTested');
    expect(spec).not.toHaveProperty('paths');
  });

  it('stays small with 500 nodes, every way and both families', () => {
    const nodes = Array.from({ length: 500 }, (_, index) => ({ name: `node-${index}`, addresses: [{ family: 'v4' as const, address: `172.18.${index >> 8}.${index & 255}` }, { family: 'v6' as const, address: `fd00:18::${index.toString(16)}` }] }));
    const many = nodes.map(({ name }, index) => runner(`netreach-mesh-0123456789-${index + 10_000}.shop`, name, { pod: `netreach-mesh-0123456789-${index + 10_000}`, addresses: [`10.244.${index >> 8}.${index & 255}`, `fd00:244::${index.toString(16)}`] }));
    const asked = taskOf({ ipv6: true, clusterIP: true, nodePort: true, loadBalancer: true, ingress: true });
    const { spec } = roundObject(asked, planned, carrier(many, { paths: { ...paths, services: [...paths.services, { ...paths.services[0]!, family: 'v6' }], nodes } }));
    expect(JSON.stringify(spec).length).toBeLessThan(200_000);
    const order = workOrders(spec)(spec.runners[0]!);
    expect(order.targets).toHaveLength(2 * 500 + 2 + 2 * 500);
    expect(JSON.stringify(order).length).toBeLessThan(1_000_000);
  });
});
