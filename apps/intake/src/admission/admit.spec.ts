import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ApiError, type KubeObject } from '@roundsman/api';
import { create, refusal, request, resourceOf, World } from '../testing/world.ts';
import { admit } from './admit.ts';
import type { Admitted, WriteRequest } from './outcome.ts';

const http = (target: object): object => ({ target: { host: 'http://example.com/', ...target } });
const dns = (target: object, request = {}): object => ({ target, request });
const server = { targetUser: { server: '10.0.0.10' } };

describe('bad input, one cause each', () => {
  it.each<[kind: string, spec: object, field: string, message: RegExp]>([
    ['NetReach', { schedule: { schedule: 'soon' } }, 'spec.schedule.schedule', /^Invalid value: "soon": a schedule is "M N"/],
    ['NetReach', { schedule: { schedule: '0 0 30 2 *' } }, 'spec.schedule.schedule', /never comes/],
    ['NetReach', { schedule: { schedule: '0 5', intervalSeconds: 5 } }, 'spec.schedule.intervalSeconds', /choose one form/],
    ['NetReach', { schedule: { schedule: '0 0 * * *', timeZone: 'Nowhere/City' } }, 'spec.schedule.timeZone', /IANA/],
    ['NetReach', { schedule: { schedule: '0 5', roundNumber: 0 } }, 'spec.schedule.roundNumber', /^Invalid value: 0: must be -1/],
    ['NetReach', { schedule: { roundNumber: 3 } }, 'spec.schedule.intervalSeconds', /^Required value: needed for roundNumber 3/],
    ['NetReach', { schedule: { schedule: '0 5', roundTimeoutMinute: 6 } }, 'spec.schedule.roundTimeoutMinute', /^Invalid value: 6: must not be longer than the 5 minutes/],
    ['NetReach', { schedule: { schedule: '*/7 * * * *', roundTimeoutMinute: 5 } }, 'spec.schedule.roundTimeoutMinute', /4 minutes between two rounds/],
    ['NetReach', { schedule: { intervalSeconds: 30, roundTimeoutSeconds: 31 } }, 'spec.schedule.roundTimeoutSeconds', /30 seconds between/],
    ['NetReach', { schedule: { roundTimeoutMinute: 1, roundTimeoutSeconds: 60 } }, 'spec.schedule.roundTimeoutSeconds', /^Forbidden: may not be given together/],
    ['NetReach', { schedule: { schedule: '0 1' }, request: { durationInSecond: 61 } }, 'spec.request.durationInSecond', /must fit into the 59 seconds that a round has .* round timeout of 1 minute, the interval since none is set, less 1 second in which/],
    ['NetReach', { schedule: { intervalSeconds: 2 }, request: { durationInSecond: 2 } }, 'spec.request.durationInSecond', /must fit into the 1.8 seconds/],
    // Within the timeout, but not before the runner hands in its result.
    ['NetReach', { schedule: { intervalSeconds: 10 }, request: { durationInSecond: 9, perRequestTimeoutInMS: 1 } }, 'spec.request.perRequestTimeoutInMS', /together with durationInSecond \(9 s\) must fit into the 9 seconds/],
    ['NetReach', { schedule: { intervalSeconds: 3, roundTimeoutSeconds: 2 }, request: { durationInSecond: 1, perRequestTimeoutInMS: 801 } }, 'spec.request.perRequestTimeoutInMS', /fit into the 1.8 seconds .* round timeout of 2 seconds, less 0.2 seconds/],
    ['NetReach', { schedule: { startAfterSeconds: 9e15 } }, 'spec.schedule.startAfterSeconds', /31622400/],
    ['NetReach', { schedule: { intervalSeconds: 9e12 } }, 'spec.schedule.intervalSeconds', /31622400/],
    ['NetReach', { schedule: { schedule: '0 600000' } }, 'spec.schedule.schedule', /from 1 to 527040/],
    ['NetReach', { schedule: { roundTimeoutMinute: 10_081 } }, 'spec.schedule.roundTimeoutMinute', /10080/],
    ['NetReach', { schedule: { roundTimeoutSeconds: 604_801 } }, 'spec.schedule.roundTimeoutSeconds', /604800/],
    ['NetReach', { schedule: { schedule: '0 1', roundNumber: 1e12 } }, 'spec.schedule.roundNumber', /1000000000/],
    ['NetReach', { request: { durationInSecond: 86_401 } }, 'spec.request.durationInSecond', /86400/],
    ['NetReach', { request: { perRequestTimeoutInMS: 3_600_001 } }, 'spec.request.perRequestTimeoutInMS', /3600000/],
    ['NetReach', { expect: { meanAccessDelayInMs: 3_600_001 } }, 'spec.expect.meanAccessDelayInMs', /3600000/],
    ['NetReach', { request: { qps: 501 } }, 'spec.request.qps', /must be less than or equal to 500: the configured capacity of a runner is 1000 requests per second \(501 to each of 2 targets is 1002\)/],
    ['NetReach', { request: { qps: 300 }, target: { ipv6: true } }, 'spec.request.qps', /300 to each of 4 targets is 1200/],
    ['NetReach', { request: { qps: 500, durationInSecond: 101 } }, 'spec.request.durationInSecond', /101000 requests per runner and round; the limit is 100000/],
    ['NetReach', { target: { ipv4: false } }, 'spec.target', /at least one of ipv4 and ipv6/],
    ['NetReach', { target: { endpoint: false } }, 'spec.target', /at least one of endpoint/],
    ['AppHttpHealthy', { ...http({}), request: { qps: 1001 } }, 'spec.request.qps', /the configured capacity of a runner is 1000/],
    ['AppHttpHealthy', http({ host: 'ftp://example.com' }), 'spec.target.host', /scheme must be http or https, not ftp/],
    ['AppHttpHealthy', http({ host: 'file:///etc/passwd' }), 'spec.target.host', /not file/],
    ['AppHttpHealthy', http({ host: 'http://' }), 'spec.target.host', /must be a URL/],
    ...['http:///x', 'http:/x', '/x', 'https:\\\\x', 'http://http://x'].map((host): [string, object, string, RegExp] => ['AppHttpHealthy', http({ host }), 'spec.target.host', /names no host/]),
    ['AppHttpHealthy', http({ host: 'exa mple.com' }), 'spec.target.host', /spaces or control/],
    ['AppHttpHealthy', http({ host: 'http://a\r\nHost: b' }), 'spec.target.host', /spaces or control/],
    ['AppHttpHealthy', http({ host: 'http://user:pw@example.com' }), 'spec.target.host', /must not hold a user name/],
    ['AppHttpHealthy', http({ host: 'http://example.com:70000' }), 'spec.target.host', /must be a URL/],
    ['AppHttpHealthy', http({ host: 'http://[fe80::zz]' }), 'spec.target.host', /must be a URL/],
    ['AppHttpHealthy', http({ host: 'http://10.0.0.300/' }), 'spec.target.host', /must be a URL/],
    ['AppHttpHealthy', http({ host: 'http://169.254.169.254/latest' }), 'spec.target.host', /^Forbidden: .*169\.254\.0\.0\/16/],
    ['AppHttpHealthy', http({ host: 'http://2852039166/latest' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ host: 'http://0xA9FEA9FE/latest' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ host: 'http://0251.0376.0251.0376/' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ host: 'http://[::ffff:169.254.169.254]/' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ host: 'http://[fe80::1]:8080/' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ host: '127.0.0.1:5432' }), 'spec.target.host', /^Forbidden: .*belongs to Roundsman itself/],
    ['AppHttpHealthy', http({ host: 'http://[::1]:4222' }), 'spec.target.host', /^Forbidden/],
    ['AppHttpHealthy', http({ http2: true }), 'spec.target.http2', /needs an https/],
    ['AppHttpHealthy', http({ header: ['no colon'] }), 'spec.target.header[0]', /it has no colon/],
    ['AppHttpHealthy', http({ header: ['A: b', 'X: y\r\nEvil: 1'] }), 'spec.target.header[1]', /must not contain a line break/],
    ['AppHttpHealthy', http({ header: [': b'] }), 'spec.target.header[0]', /not a header name/],
    ['AppHttpHealthy', http({ header: ['Content-Length: 5'] }), 'spec.target.header[0]', /^Forbidden: Content-Length is set by the prober/],
    ['AppHttpHealthy', http({ bodyConfigmapName: 'huge' }), 'spec.target.bodyConfigmapName', /the body has 108 bytes; the limit is 64/],
    ['AppHttpHealthy', http({ bodyConfigmapName: 'b', bodyConfigmapNamespace: 'shop' }), 'spec.target.bodyConfigmapNamespace', /^Forbidden: must be the task's own namespace/],
    ['AppHttpHealthy', http({ bodyConfigmapNamespace: 'default' }), 'spec.target.bodyConfigmapName', /^Required value/],
    ['AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'none' }), 'spec.target.tlsSecretName', /none of the keys ca.crt, tls.crt, tls.key/],
    ['AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'half' }), 'spec.target.tlsSecretName', /tls.crt and tls.key together/],
    ['AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'empty' }), 'spec.target.tlsSecretName', /ca.crt of the secret is empty/],
    ['AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'garbage' }), 'spec.target.tlsSecretName', /ca.crt of the secret is not PEM/],
    ['NetDNS', dns({}), 'spec.target', /^Required value: one of targetUser and targetDns/],
    ['NetDNS', dns({ targetUser: { server: '10.0.0.300' } }), 'spec.target.targetUser.server', /must be an IP address or a DNS name/],
    ['NetDNS', dns({ targetUser: { server: 'not a name' } }), 'spec.target.targetUser.server', /must be an IP address/],
    ['NetDNS', dns({ targetUser: { server: '169.254.20.10' } }), 'spec.target.targetUser.server', /^Forbidden/],
    ['NetDNS', dns({ targetUser: { server: '::ffff:a9fe:a9fe' } }), 'spec.target.targetUser.server', /^Forbidden/],
    ['NetDNS', dns({ targetDns: { testIPv4: false } }), 'spec.target.targetDns', /at least one of testIPv4 and testIPv6/],
    ['NetDNS', dns({ targetDns: { serviceName: 'Kube DNS' } }), 'spec.target.targetDns.serviceName', /^Invalid value/],
    ['NetDNS', dns(server, { domain: 'a..b' }), 'spec.request.domain', /must be a DNS name/],
    ['NetDNS', dns(server, { domain: 'x'.repeat(64) }), 'spec.request.domain', /at most 63/],
  ])('%s %j', (kind, spec, field, message) => {
    const error = refusal(() => create(kind, spec));
    expect(error.status.reason).toBe('Invalid');
    expect(error.status.details?.causes).toEqual([{ field, reason: expect.any(String), message: expect.stringMatching(message) }]);
  });
  it('names the runner that can do least', () => {
    const world = new World();
    for (const [name, capacityQps, ready] of [['weak', 30, true], ['strong', 5000, true], ['away', 1, false]] as const) world.put('runners.roundsman.io', { metadata: { name }, status: { ready, runtime: 'default', capacityQps, addresses: [] } });
    const attempt = (qps: number): Admitted => admit(request({ resource: 'apphttphealthies.roundsman.io', namespace: 'default', object: { metadata: { name: 'x' }, spec: { request: { qps }, target: { host: 'example.com' } } } }), world);
    expect(refusal(() => attempt(31)).message).toContain('spec.request.qps: Invalid value: 31: must be less than or equal to 30: the capacity of runner weak is 30 requests per second');
    expect(attempt(30).type).toBe('ADDED');
  });
  it('never shows a header value that may be a credential, nor a secret', () => {
    expect(refusal(() => create('AppHttpHealthy', http({ header: ['Authorization: Bearer s3cret\n'] }))).message).not.toContain('s3cret');
    expect(refusal(() => create('AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'garbage' }))).message).not.toContain('hunter2');
  });
});

describe('good input', () => {
  it.each<[kind: string, spec: object, warnings: RegExp[]]>([
    ['NetReach', {}, []],
    ['NetReach', { schedule: { schedule: '0  5', roundNumber: -1 }, request: { qps: 500 } }, []],
    ['NetReach', { schedule: { startAfterSeconds: 3, intervalSeconds: 30, roundNumber: 4 } }, []],
    ['AppHttpHealthy', http({ host: '[fd00::1]:8080/x' }), []],
    ['AppHttpHealthy', http({ host: 'https://e.com', http2: true, tlsSecretName: 'good', header: ['X-Time: 10:30:00', 'Host: other.example'] }), []],
    ['AppHttpHealthy', http({ bodyConfigmapName: 'small', method: 'POST' }), []],
    ['AppHttpHealthy', http({ bodyConfigmapName: 'later' }), [/configmaps "later" does not exist in namespace "default" yet/]],
    ['AppHttpHealthy', http({ host: 'https://e.com', tlsSecretName: 'later' }), [/secrets "later" does not exist/]],
    ['AppHttpHealthy', http({ tlsSecretName: 'good' }), [/not used, host is not an https/]],
    ['NetDNS', dns({ targetUser: { server: '::1', port: 5353 } }, { recordType: 'TXT', protocol: 'tcp' }), []],
    ['NetDNS', dns({ targetUser: { server: 'dns.example.com' } }), []],
  ])('%s %j', (kind, spec, warnings) => {
    const admitted = create(kind, spec);
    expect(admitted.type).toBe('ADDED');
    expect(admitted.warnings).toEqual(warnings.map((warning) => expect.stringMatching(warning)));
  });
  it('gets identity, generation and time from the server, whatever it says itself', () => {
    const { object } = create('NetReach', {}, { object: { metadata: { name: 'x', uid: 'mine', generation: 9, creationTimestamp: '2001-01-01T00:00:00Z' }, status: { doneRound: 7 } } });
    expect(object.metadata).toMatchObject({ name: 'x', namespace: 'default', generation: 1, creationTimestamp: '2026-03-01T10:00:00Z' });
    expect(object.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(object).not.toHaveProperty('status');
  });
  it('gets a name where it asks for one', () => {
    expect(create('NetReach', {}, { object: { metadata: { generateName: 'mesh-' } } }).name).toMatch(/^mesh-[b-z0-9]{5}$/);
    // No longer than a label.
    expect(create('NetReach', {}, { object: { metadata: { generateName: 'm'.repeat(100) } } }).name).toMatch(/^m{58}[b-z0-9]{5}$/);
    const world = new World();
    const taken: string[] = [];
    const crowded = { ...world, admitted: (...[resource, namespace, name]: Parameters<World['admitted']>) => (name.startsWith('mesh-') && taken.push(name) < 4 ? world.put(resource, { metadata: { name } }) : world.admitted(resource, namespace, name)) };
    const { name } = admit(request({ resource: resourceOf('NetReach'), namespace: 'default', object: { metadata: { generateName: 'mesh-' }, spec: {} } }), crowded);
    expect(taken.slice(0, 3)).not.toContain(name);
  });
});

describe('names', () => {
  it.each(['A', 'a_b', 'a.>', 'a*b', '$JS', '-a', 'a-', '../x', 'a b', 'ä', ''])('refuses %j', (name) => {
    expect(refusal(() => create('NetReach', {}, { object: { metadata: { name } } })).status.details?.causes?.[0]?.field).toBe('metadata.name');
  });
  it('are needed', () => {
    for (const object of [{}, { metadata: {} }, { metadata: null }, { metadata: { name: null } }]) {
      expect(refusal(() => create('NetReach', {}, { object })).code).toBeLessThan(500);
    }
    expect(refusal(() => create('NetReach', {}, { object: {} })).message).toBe('NetReach.roundsman.io "" is invalid: metadata.name: Required value: name or generateName is required');
  });
  it('of tasks have at most 63 characters', () => {
    expect(create('NetReach', {}, { object: { metadata: { name: 'a'.repeat(63) } } }).name).toHaveLength(63);
    expect(refusal(() => create('NetReach', {}, { object: { metadata: { name: 'a'.repeat(64) } } })).message).toMatch(/must be no more than 63 characters: the name of a NetReach/);
  });
  it('must agree with the request', () => {
    expect(refusal(() => create('NetReach', {}, { name: 'y' }))).toMatchObject({ code: 400 });
    expect(refusal(() => create('NetReach', {}, { object: { metadata: { name: 'x', namespace: 'shop' } } }))).toMatchObject({ code: 400 });
  });
  it.each<[object, string]>([
    [{ labels: { 'a b': 'x' } }, 'metadata.labels'],
    [{ labels: { a: 'not valid!' } }, 'metadata.labels'],
    [{ annotations: { 'a/b/c': 'x' } }, 'metadata.annotations'],
    [{ annotations: { a: 'x'.repeat(300_000) } }, 'metadata.annotations'],
    [{ finalizers: ['nope'] }, 'metadata.finalizers[0]'],
    [{ ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: '' }] }, 'metadata.ownerReferences[0].uid'],
  ])('%j', (metadata, field) => {
    expect(refusal(() => create('NetReach', {}, { object: { metadata: { name: 'x', ...metadata } } })).status.details?.causes?.[0]?.field).toBe(field);
  });
});

describe('who may write what', () => {
  it('refuses people the kinds of the product, and everybody the virtual ones', () => {
    expect(refusal(() => create('Round', {}))).toMatchObject({ code: 403 });
    expect(refusal(() => create('Round', {}, { user: 'system:roundsman' }))).toMatchObject({ code: 403 });
    // Who names nobody is nobody.
    expect(refusal(() => create('Round', {}, { user: undefined }))).toMatchObject({ code: 403 });
    expect(refusal(() => create('Report', {}, { user: undefined }))).toMatchObject({ code: 405 });
    expect(refusal(() => create('NetReach', {}, { resource: 'widgets' }))).toMatchObject({ code: 404 });
  });
  it('lets services make them, with a status', () => {
    const world = new World();
    const status = { node: 'n', runtime: 'default', instance: 'i', version: '1', ready: true, addresses: [], ports: {}, capacityQps: 1, lastTransitionTime: 't' };
    const { object } = admit(request({ resource: 'runners.roundsman.io', user: 'system:roundsman:controllers', object: { metadata: { name: 'r9' }, status } }), world);
    expect(object.status).toEqual(status);
  });
  it('wants the namespace to be there and to stay', () => {
    expect(refusal(() => create('NetReach', {}, { namespace: 'nowhere' }))).toMatchObject({ code: 404, message: 'namespaces "nowhere" not found' });
    const world = new World();
    world.put('namespaces', { metadata: { name: 'old', deletionTimestamp: '2026-01-01T00:00:00Z' } as { name: string } });
    expect(refusal(() => admit(request({ resource: 'netreaches.roundsman.io', namespace: 'old', object: { metadata: { name: 'x' } } }), world))).toMatchObject({ code: 403 });
  });
});

describe('changes', () => {
  const at = { resource: 'netreaches.roundsman.io', namespace: 'default', name: 'x' };
  const start = (): { world: World; stored: KubeObject } => {
    const world = new World();
    return { world, stored: world.store({ ...at, object: { metadata: { name: 'x' }, spec: { request: { qps: 2 } } } }) };
  };
  const body = (object: KubeObject): Record<string, unknown> => structuredClone(object) as unknown as Record<string, unknown>;

  it('bump the generation with the spec only', () => {
    const { world, stored } = start();
    const spec = admit(request({ operation: 'update', ...at, object: { spec: { request: { qps: 3 } } } }), world);
    expect([spec.type, spec.object.metadata.generation]).toEqual(['MODIFIED', 2]);
    const labels = admit(request({ operation: 'update', ...at, object: { ...body(stored), metadata: { ...stored.metadata, labels: { a: 'b' } } } }), world);
    expect([labels.type, labels.object.metadata.generation]).toEqual(['MODIFIED', 1]);
  });
  it('that change nothing are none', () => {
    const { world, stored } = start();
    expect(admit(request({ operation: 'update', ...at, object: body(stored) }), world)).toMatchObject({ object: stored });
    expect(admit(request({ operation: 'update', ...at, object: body(stored) }), world).type).toBeUndefined();
  });
  it('of the status go on where the spec was stored under other rules', () => {
    const { world, stored } = start();
    const old = world.put(at.resource, { ...body(stored), metadata: { name: 'x', namespace: 'default' }, spec: { ...(stored.spec as object), schedule: { startAfterSeconds: 9e15, roundNumber: 1 } } } as never);
    const status = { doneRound: 0, conditions: [{ type: 'Scheduled', status: 'False', reason: 'InvalidSchedule', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }] };
    const written = admit(request({ operation: 'updateStatus', ...at, user: undefined, object: { status } }), world).object;
    expect(written).toMatchObject({ spec: old.spec, status });
    expect(refusal(() => admit(request({ operation: 'updateStatus', ...at, user: undefined, object: { status: { doneRound: 'many' } } }), world)).message).toContain('status.doneRound');
  });
  it('of the status refuse a spec that is none, though they would not take it', () => {
    const { world } = start();
    const sent = { spec: { request: { qps: 'many' } }, status: { doneRound: 1 } };
    expect(refusal(() => admit(request({ operation: 'updateStatus', ...at, object: sent }), world)).message).toContain('spec.request.qps');
  });
  it('of the spec never touch the status, and the other way round', () => {
    const { world } = start();
    const withStatus = world.put(at.resource, { ...(admit(request({ operation: 'updateStatus', ...at, user: undefined, object: { spec: { request: { qps: 99 } }, status: { doneRound: 2 } } }), world).object as never as { metadata: { name: string } }) });
    expect(withStatus).toMatchObject({ spec: { request: { qps: 2 } }, status: { doneRound: 2 }, metadata: { generation: 1 } });
    const changed = admit(request({ operation: 'update', ...at, object: { spec: { request: { qps: 3 } }, status: { doneRound: 77 } } }), world);
    expect(changed.object).toMatchObject({ spec: { request: { qps: 3 } }, status: { doneRound: 2 } });
  });
  it('from an old version are a conflict', () => {
    const { world } = start();
    expect(refusal(() => admit(request({ operation: 'update', ...at, object: { metadata: { resourceVersion: '1' } } }), world))).toMatchObject({
      code: 409,
      message: 'Operation cannot be fulfilled on netreaches.roundsman.io "x": the object has been modified; please apply your changes to the latest version and try again',
    });
    expect(refusal(() => admit(request({ operation: 'update', ...at, object: { metadata: { uid: 'another' } } }), world))).toMatchObject({ code: 409 });
    expect(refusal(() => admit(request({ operation: 'delete', ...at, preconditions: { uid: 'another' } }), world))).toMatchObject({ code: 409 });
    expect(refusal(() => admit(request({ operation: 'delete', ...at, preconditions: { resourceVersion: '1' } }), world))).toMatchObject({ code: 409 });
  });
  it('are judged by what is new: an old fault stays writable, a new one is refused', () => {
    const { world, stored } = start();
    world.put(at.resource, { ...(stored as never as { metadata: { name: string } }), spec: { ...(stored.spec as object), target: { ...(stored.spec as { target: object }).target, clusterIP: true } } });
    const now = body(world.admitted(at.resource, 'default', 'x')!);
    expect(admit(request({ operation: 'update', ...at, object: { ...now, metadata: { name: 'x', labels: { a: 'b' } } } }), world).type).toBe('MODIFIED');
    const worse = { ...now, spec: { ...(now['spec'] as object), request: { qps: 100_000 } } };
    const causes = refusal(() => admit(request({ operation: 'update', ...at, object: worse }), world)).status.details?.causes;
    expect(causes?.map(({ field }) => field)).toEqual(['spec.request.qps']);
  });
  it('of an object with finalizers end in its deletion when the last is gone', () => {
    const world = new World();
    const stored = world.store({ ...at, object: { metadata: { name: 'x', finalizers: ['a.b/c'] } } });
    const deleting = admit(request({ operation: 'delete', ...at }), world);
    expect(deleting).toMatchObject({ type: 'MODIFIED', object: { metadata: { deletionTimestamp: '2026-03-01T10:00:00Z' } } });
    const kept = world.put(at.resource, deleting.object as never as { metadata: { name: string } });
    expect(admit(request({ operation: 'delete', ...at }), world).type).toBeUndefined();
    expect(refusal(() => admit(request({ operation: 'update', ...at, object: { ...body(kept), metadata: { finalizers: ['a.b/c', 'd.e/f'] } } }), world)).message).toMatch(/no new finalizers can be added/);
    expect(admit(request({ operation: 'update', ...at, object: { ...body(stored), metadata: { finalizers: [] } } }), world).type).toBe('DELETED');
  });
  it('a second deletion says anew what becomes of the dependents, without a word nothing', () => {
    const world = new World();
    world.store({ ...at, object: { metadata: { name: 'x', finalizers: ['a.b/c'] } } });
    const remove = (propagationPolicy?: WriteRequest['propagationPolicy']): Admitted => {
      const outcome = admit(request({ operation: 'delete', ...at, ...(propagationPolicy && { propagationPolicy }) }), world);
      if (outcome.type === 'MODIFIED') world.put(at.resource, outcome.object as never as { metadata: { name: string } });
      return outcome;
    };
    expect(remove('Foreground').object.metadata.finalizers).toEqual(['a.b/c', 'foregroundDeletion']);
    expect(remove().type).toBeUndefined();
    expect(remove('Orphan').object.metadata).toMatchObject({ finalizers: ['a.b/c', 'orphan'], deletionTimestamp: '2026-03-01T10:00:00Z' });
    expect(remove('Background').object.metadata.finalizers).toEqual(['a.b/c']);
    world.put(at.resource, { metadata: { name: 'x', namespace: 'default', finalizers: ['foregroundDeletion'], deletionTimestamp: '2026-03-01T10:00:00Z', deletionGracePeriodSeconds: 0 } as never });
    expect(remove('Background').type).toBe('DELETED');
  });
  it('without a word about them jobs leave their pods behind, as for clients of old', () => {
    const world = new World();
    const job = { resource: 'jobs.batch', namespace: 'default', name: 'j' };
    world.put('jobs.batch', { metadata: { name: 'j', namespace: 'default' } });
    expect(admit(request({ operation: 'delete', ...job }), world).object.metadata.finalizers).toEqual(['orphan']);
    expect(admit(request({ operation: 'delete', ...job, propagationPolicy: 'Background' }), world).type).toBe('DELETED');
    world.put('jobs.batch', { metadata: { name: 'j', namespace: 'default', finalizers: ['foregroundDeletion'] } as never });
    expect(admit(request({ operation: 'delete', ...job }), world).object.metadata.finalizers).toEqual(['foregroundDeletion']);
  });
  it('of nothing are a 404, with the words of Kubernetes', () => {
    const { world } = start();
    for (const operation of ['update', 'updateStatus', 'delete'] as const) {
      expect(refusal(() => admit(request({ operation, ...at, name: 'y', object: {} }), world)).message).toBe('netreaches.roundsman.io "y" not found');
    }
    expect(refusal(() => admit(request({ ...at, object: { metadata: { name: 'x' } } }), world)).message).toBe('netreaches.roundsman.io "x" already exists');
  });
  it('for a dry run say the same and lead to nothing', () => {
    const { world } = start();
    const dry = admit(request({ operation: 'update', ...at, dryRun: true, object: { spec: { request: { qps: 3 } } } }), world);
    expect(dry.type).toBeUndefined();
    expect(dry.object).toMatchObject({ spec: { request: { qps: 3 } }, metadata: { generation: 2 } });
    expect(refusal(() => admit(request({ ...at, name: 'new', dryRun: true, object: { spec: { request: { qps: 0 } } } }), world))).toMatchObject({ code: 422 });
  });
});

it('any JSON is admitted or refused with an ApiError, in every kind and operation', () => {
  const metadata = fc.dictionary(fc.constantFrom('name', 'namespace', 'generateName', 'uid', 'resourceVersion', 'labels', 'annotations', 'finalizers', 'ownerReferences'), fc.oneof(fc.constantFrom('x', 'default', ''), fc.jsonValue()));
  const body = fc.record({ metadata: fc.oneof(metadata, fc.jsonValue()), spec: fc.jsonValue(), status: fc.jsonValue(), data: fc.jsonValue(), stringData: fc.jsonValue(), apiVersion: fc.constantFrom('v1', 'roundsman.io/v1', 'kdoctor.io/v1beta1'), kind: fc.constantFrom('NetReach', 'Secret', 'Namespace', 'Netdns') }, { requiredKeys: [] });
  const world = new World();
  world.put('netreaches.roundsman.io', { metadata: { name: 'x', namespace: 'default' }, spec: {} });
  fc.assert(
    fc.property(
      fc.constantFrom('netreaches.roundsman.io', 'netdnses.roundsman.io', 'secrets', 'configmaps', 'namespaces', 'events', 'nodes'), fc.constantFrom('create', 'update', 'updateStatus', 'delete'),
      body, fc.option(fc.constantFrom('x', 'default', 'none'), { nil: undefined }), fc.option(fc.constant('kdoctor.io/v1beta1'), { nil: undefined }), fc.constantFrom('Strict', 'Warn', 'Ignore'),
      (resource, operation, object, name, view, fieldValidation) => {
        try {
          admit(request({ operation, resource, namespace: 'default', name, object, view, fieldValidation, user: undefined } as Partial<WriteRequest>), world);
        } catch (error) {
          if (!(error instanceof ApiError)) throw error;
        }
      },
    ),
    { numRuns: 3000 },
  );
});

describe('other kinds', () => {
  it('do not mend data of a secret that is none', () => {
    const made = (data: unknown): unknown => admit(request({ resource: 'secrets', namespace: 'default', object: { metadata: { name: 's' }, stringData: { a: 'b' }, data } }), new World());
    for (const data of [false, 0, 'x', ['x']]) expect(refusal(() => made(data)).message).toContain('data');
  });
  it('write stringData of a secret into data', () => {
    const { object } = admit(request({ resource: 'secrets', namespace: 'default', object: { metadata: { name: 's' }, stringData: { a: 'b' }, data: { c: 'ZA==' } } }), new World());
    expect(object).toMatchObject({ type: 'Opaque', data: { a: 'Yg==', c: 'ZA==' } });
    expect(object).not.toHaveProperty('stringData');
  });
  it('keep immutable data', () => {
    const world = new World();
    world.store({ resource: 'configmaps', namespace: 'default', object: { metadata: { name: 'c' }, immutable: true, data: { a: 'b' } } });
    const change = (object: object): ApiError => refusal(() => admit(request({ operation: 'update', resource: 'configmaps', namespace: 'default', name: 'c', object: { metadata: { name: 'c' }, ...object } }), world));
    expect(change({ immutable: true, data: { a: 'c' } }).message).toMatch(/immutable when `immutable` is set/);
    expect(change({ data: { a: 'b' } }).message).toMatch(/immutable/);
  });
  it('refuse a huge or unreadable body', () => {
    const config = (data: object): ApiError => refusal(() => admit(request({ resource: 'configmaps', namespace: 'default', object: { metadata: { name: 'c' }, data } }), new World()));
    expect(config({ a: 'x'.repeat(1_048_577) })).toMatchObject({ code: 422, message: expect.stringContaining('Too long: may not be more than 1048576 bytes') });
    expect(config({ a: 'x\0y' })).toMatchObject({ code: 400, message: expect.stringContaining('NUL') });
    expect(config({ a: '\ud800' })).toMatchObject({ code: 400 });
    expect(config({ 'a b': 'x' })).toMatchObject({ code: 422 });
    expect(admit(request({ resource: 'configmaps', namespace: 'default', object: { metadata: { name: 'c' }, data: { a: '\\u0000' } } }), new World()).type).toBe('ADDED');
  });
  it('are measured in bytes, not in characters', () => {
    const status = (text: string): Admitted => {
      const world = new World();
      world.put('namespaces', { metadata: { name: 'n' }, apiVersion: 'v1', kind: 'Namespace', spec: {} });
      return admit(request({ operation: 'updateStatus', resource: 'namespaces', name: 'n', object: { status: { conditions: [{ type: 'T', status: 'True', reason: 'R', message: text, lastTransitionTime: '2026-01-01T00:00:00Z' }] } } }), world);
    };
    expect(status('x'.repeat(700_000)).type).toBe('MODIFIED');
    expect(refusal(() => status('語'.repeat(700_000)))).toMatchObject({ code: 413, message: expect.stringContaining('the limit is 1500000') });
  });
  it('keep the priority classes of the system', () => {
    const world = new World();
    for (const name of ['system-node-critical', 'mine']) world.put('priorityclasses.scheduling.k8s.io', { metadata: { name }, value: 1 });
    const remove = (name: string): Admitted => admit(request({ operation: 'delete', resource: 'priorityclasses.scheduling.k8s.io', name }), world);
    expect(refusal(() => remove('system-node-critical'))).toMatchObject({ code: 403, message: 'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted' });
    expect(remove('mine').type).toBe('DELETED');
  });
  it('keep the built-in namespaces', () => {
    expect(refusal(() => admit(request({ operation: 'delete', resource: 'namespaces', name: 'default' }), new World()))).toMatchObject({ code: 403 });
  });
});
