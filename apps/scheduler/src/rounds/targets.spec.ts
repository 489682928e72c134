import { describe, expect, it } from '@jest/globals';
import { roundSpecSchema, workOrderSchema, type RoundSpec, type Runner, type RunnerStatus } from '@roundsman/api';
import type { Task } from './caches.ts';
import type { PlannedRound } from './plan.ts';
import { peersOf, roundObject, workOrder } from './round-object.ts';
import { echoPeer, notTestedOf, targetId, targetsOf, type Peer } from './targets.ts';

const status = (node: string, extra: Partial<RunnerStatus> = {}): RunnerStatus => ({
  node,
  runtime: 'default',
  instance: 'i',
  version: '0.1.0',
  ready: true,
  addresses: [{ family: 'v4', address: '10.0.0.1' }],
  ports: { http: 18080, https: 18443, dns: 18053, dot: 18853, udp: 18000 },
  capacityQps: 1000,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...extra,
});
const peer = (runner: string, node: string, extra?: Partial<RunnerStatus>): Peer => ({ runner, status: status(node, extra) });
const dual = (address: string, six: string): Partial<RunnerStatus> => ({ addresses: [{ family: 'v4', address }, { family: 'v6', address: six }] });
const ref = (kind: RoundSpec['taskRef']['kind'], name = 'task'): RoundSpec['taskRef'] => ({ kind, resource: 'r', namespace: 'shop', name, uid: 'uid', generation: 1 });
const mesh = (target: object) => ({ target: { ipv4: true, ipv6: false, endpoint: true, ...target } });
const http = (target: object) => ({ target: { host: 'http://a', method: 'GET', http2: false, ...target } });
const dns = (targetUser: object, request: object = {}) => ({ target: { targetUser }, request: { domain: 'example.com', protocol: 'udp', ...request } });

describe('targets of a NetReach', () => {
  const peers = [peer('a', 'node-1', dual('10.0.0.1', 'fd00::1')), peer('b', 'node-2')];

  it('are all ready runners, oneself too, per family that a runner has', () => {
    const targets = targetsOf(ref('NetReach', 'my.mesh'), 7, mesh({ ipv6: true }), 'a', peers);
    expect(targets).toMatchObject([
      { id: 'endpoint/v4/node-1', layer: 'endpoint', node: 'node-1', family: 'v4', url: 'http://10.0.0.1:18080/?task=shop.my.mesh.7' },
      { id: 'endpoint/v6/node-1', family: 'v6', url: 'http://[fd00::1]:18080/?task=shop.my.mesh.7' },
      { id: 'endpoint/v4/node-2', node: 'node-2' },
    ]);
  });

  it('carry the runner in their id when two share a node', () => {
    expect(targetsOf(ref('NetReach'), 1, mesh({}), 'a', [peer('a', 'node-1'), peer('b', 'node-1'), peer('c', 'node-2')]).map(({ id }) => id)).toEqual(['endpoint/v4/node-1/a', 'endpoint/v4/node-1/b', 'endpoint/v4/node-2']);
  });

  it('leave out what the cluster cannot test, and say so', () => {
    expect(targetsOf(ref('NetReach'), 1, mesh({ endpoint: false, clusterIP: true }), 'a', peers)).toEqual([]);
    const words = notTestedOf(ref('NetReach'), { ...mesh({ ipv6: true, clusterIP: true, ingress: true }), agentSpec: {} }, [peer('b', 'node-2')]);
    expect(words.map((text) => text.split(':')[0])).toEqual(['spec.target.clusterIP', 'spec.target.ingress', 'spec.agentSpec', 'spec.target.ipv6']);
  });
});

describe('target of an AppHttpHealthy', () => {
  const peers = [peer('a', 'node-1'), peer('b', 'node-2', { addresses: [{ family: 'v4', address: '10.0.0.2' }] })];

  it('takes header, method and protocol from the task; values keep their colons', () => {
    const spec = http({ host: 'shop.example.com/x', method: 'POST', http2: true, header: ['Authorization: Bearer a:b:c', 'X-Empty:'], bodyConfigmapName: 'b', tlsSecretName: 's' });
    expect(targetsOf(ref('AppHttpHealthy'), 1, spec, 'a', peers)).toEqual([
      {
        id: 'url', layer: 'url', probe: 'http', url: 'http://shop.example.com/x', method: 'POST', http2: true, hasBody: true, hasTls: true,
        headers: [['Authorization', 'Bearer a:b:c'], ['X-Empty', '']],
      },
    ]);
  });

  it('leads the built-in name to the next runner by name', () => {
    const connect = (host: string, self: string) => (targetsOf(ref('AppHttpHealthy'), 1, http({ host }), self, peers)[0] as { connect?: unknown }).connect;
    expect(connect('http://echo.roundsman-system.svc/?delay=1', 'a')).toEqual({ host: '10.0.0.2', port: 18080 });
    expect(connect('https://echo.roundsman-system.svc', 'b')).toEqual({ host: '10.0.0.1', port: 18443 });
    expect(connect('https://echo.roundsman-system.svc:80', 'a')).toEqual({ host: '10.0.0.2', port: 18080 });
    expect(connect('http://echo.roundsman-system.svc:8080', 'a')).toBeUndefined();
    expect(connect('http://example.com', 'a')).toBeUndefined();
    expect(echoPeer('a', [peers[0] as Peer])?.runner).toBe('a');
  });
});

describe('target of a NetDNS', () => {
  const peers = [peer('a', 'node-1'), peer('b', 'node-2')];
  const one = (spec: object) => targetsOf(ref('NetDNS'), 1, spec, 'a', peers)[0];

  it('asks for A at IPv4, AAAA at IPv6, or for the type given', () => {
    expect(one(dns({ server: '10.0.0.10', port: 53 }))).toMatchObject({ id: 'dns/udp/10.0.0.10:53/A/example.com', family: 'v4', recordType: 'A', server: '10.0.0.10', port: 53 });
    expect(one(dns({ server: 'fd00::a', port: 5353 }, { protocol: 'tcp' }))).toMatchObject({ id: 'dns/tcp/[fd00::a]:5353/AAAA/example.com', family: 'v6', recordType: 'AAAA', server: 'fd00::a' });
    expect(one(dns({ server: '[fd00::a]', port: 53 }, { recordType: 'SRV' }))).toMatchObject({ id: 'dns/udp/[fd00::a]:53/SRV/example.com', server: 'fd00::a', recordType: 'SRV' });
  });

  it('leads the built-in name to the next runner, with the name kept for TLS', () => {
    expect(one(dns({ server: 'echo.roundsman-system.svc', port: 53 }))).toMatchObject({ id: 'dns/udp/echo.roundsman-system.svc:53/A/example.com', server: '10.0.0.1', port: 18053 });
    expect(one(dns({ server: 'echo.roundsman-system.svc', port: 853 }, { protocol: 'tcp-tls' }))).toMatchObject({ server: '10.0.0.1', port: 18853, serverName: 'echo.roundsman-system.svc' });
  });

  it('keeps ids of long names short and different', () => {
    const ids = ['a', 'b'].map((end) => targetId(`dns/udp/10.0.0.10:53/A/${'x'.repeat(250)}${end}`));
    expect(ids.every((id) => id.length === 253)).toBe(true);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('a Round and its work', () => {
  const task: Task = {
    apiVersion: 'roundsman.io/v1',
    kind: 'NetReach',
    metadata: { name: 'mesh', namespace: 'shop', uid: '0123456789', resourceVersion: '1', generation: 2, creationTimestamp: '2026-01-01T00:00:00Z', annotations: { 'roundsman.io/cancel': 'c1' } },
    spec: { suspend: false, schedule: { roundNumber: 1 }, request: { durationInSecond: 3, qps: 5, perRequestTimeoutInMS: 400 }, expect: { successRate: 0.9, meanAccessDelayInMs: 100, statusCode: 200 }, ...mesh({}) } as Task['spec'],
  };
  const planned: PlannedRound = { number: 4, trigger: 'schedule', startMs: 1000, deadlineMs: 61_000, skipped: 2, ledger: { lastNumber: 4, scheduled: 3, lastScheduledMs: 1000, handledRunNow: 'r1', generation: 2 } };
  const runner = (name: string, of: RunnerStatus | undefined): Runner => ({
    apiVersion: 'roundsman.io/v1', kind: 'Runner', spec: {}, metadata: { name, uid: name, resourceVersion: '1', generation: 1, creationTimestamp: '' }, ...(of === undefined ? {} : { status: of }),
  });
  const runners = [runner('b', status('node-2')), runner('a', status('node-1')), runner('c', status('node-3', { ready: false, reason: 'no heartbeat since 2026-01-01T00:00:00Z' }))];

  it('lists every runner, those not ready with the reason, and carries the ledger', () => {
    const { metadata, spec } = roundObject(task, planned, runners);
    expect(() => roundSpecSchema.parse(spec)).not.toThrow();
    expect(spec.runners).toEqual([{ runner: 'a', node: 'node-1' }, { runner: 'b', node: 'node-2' }, { runner: 'c', node: 'node-3', notReady: 'no heartbeat since 2026-01-01T00:00:00Z' }]);
    expect(metadata.name).toBe('netreach-mesh-01234567-4');
    expect(metadata.annotations).toEqual({
      'roundsman.io/scheduled-rounds': '3', 'roundsman.io/last-scheduled-start': '1970-01-01T00:00:01.000Z', 'roundsman.io/run-now': 'r1', 'roundsman.io/cancel': 'c1', 'roundsman.io/skipped-rounds': '2',
    });
    expect(metadata.ownerReferences?.[0]).toMatchObject({ kind: 'NetReach', uid: '0123456789' });
  });

  it('is whole: a runner needs nothing else', () => {
    const { spec } = roundObject(task, planned, runners);
    const peers = peersOf(spec, (name) => runners.find(({ metadata }) => metadata.name === name));
    const order = workOrder(spec, spec.runners[1] as RoundSpec['runners'][number], peers);
    expect(workOrderSchema.parse(order)).toEqual(order);
    expect(order).toMatchObject({ runner: 'b', round: 4, roundStart: '1970-01-01T00:00:01.000Z', deadline: '1970-01-01T00:01:01.000Z', request: { durationMs: 3000, qps: 5, timeoutMs: 400 }, expect: { successRate: 0.9, meanAccessDelayInMs: 100 }, needsMaterials: false });
    expect(order.expect).not.toHaveProperty('statusCode');
    expect(order.targets).toHaveLength(2);
  });
});
