import { createConnection, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { eventually, startNats } from '@roundsman/testkit';
import type { TestNats } from '@roundsman/testkit';
import { connectBus, endpoint, ensureStreams, messages, ServiceError, subjectOf, Unreachable } from './index.ts';
import type { Bus, Change, Subscription } from './index.ts';

let nats: TestNats;
let bus: Bus;
/** A plain client, as the `nats` program is one. */
let person: NatsConnection;
let subscriptions: Subscription[] = [];
const kept = async (subscription: Promise<Subscription>): Promise<Subscription> => {
  const made = await subscription;
  subscriptions.push(made);
  return made;
};

beforeAll(async () => {
  nats = await startNats();
  bus = await nats.connect('intake');
  person = await connect({ servers: nats.url });
  await ensureStreams(bus);
});
afterEach(async () => {
  for (const subscription of subscriptions) await subscription.stop();
  subscriptions = [];
});
afterAll(async () => {
  await person.close();
  await nats.stop();
});

const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } });
const changeOf = (name: string, version: number): Change => ({
  type: 'ADDED',
  version,
  previous: version - 1,
  previousOfResource: 0,
  resource: 'nodes',
  namespace: '',
  name,
  uid: `uid-${name}`,
  object: node(name),
});
const report = { kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', roundStart: '2026-01-01T00:00:00Z', closedAt: '2026-01-01T00:00:10Z', state: 'succeed' } as const;
const reportOf = (round: number) => ({
  ...report,
  round,
  verdict: { state: 'healthy', summary: 'all held' },
  totals: { planned: 1, sent: 1, succeeded: 1, failed: 0, unsent: 0 },
  nodes: { succeeded: ['n1'], failed: [], missing: [] },
});
const reportParams = { kind: 'NetReach', namespace: 'default', task: 't' };

describe('publish and subscribe', () => {
  it('carry a message with its params to whom it concerns, in order', async () => {
    const got: string[] = [];
    await kept(bus.subscribe(messages.change, { resource: 'nodes' }, ({ params, payload }) => void got.push(`${params['namespace']}/${params['name']}@${payload.version}`)));
    for (let version = 1; version <= 300; version += 1) bus.publish(messages.change, { resource: 'nodes', namespace: '', name: 'n.1' }, changeOf('n.1', version));
    bus.publish(messages.change, { resource: 'pods', namespace: '', name: 'x' }, changeOf('x', 301));
    await eventually(() => expect(got.length).toBe(300));
    expect(got).toEqual(Array.from({ length: 300 }, (_, index) => `/n.1@${index + 1}`));
  });

  it('run one handler after another, and go on after one that throws', async () => {
    const seen: number[] = [];
    let active = 0;
    await kept(
      bus.subscribe(messages.changeHead, {}, async ({ payload }) => {
        active += 1;
        expect(active).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        active -= 1;
        seen.push(payload.version);
        if (payload.version === 2) throw new Error('second');
      }),
    );
    const before = bus.health().counts?.failed ?? 0;
    for (const version of [1, 2, 3]) bus.publish(messages.changeHead, {}, { version, ofResource: {} });
    await eventually(() => expect(seen).toEqual([1, 2, 3]));
    await eventually(() => expect(bus.health().counts?.failed).toBe(before + 1));
  });

  it('share messages within a queue group', async () => {
    const got = [0, 0];
    for (const index of [0, 1]) await kept(bus.subscribe(messages.nodeCancel, {}, () => void (got[index] = (got[index] ?? 0) + 1), { queue: 'g' }));
    for (let count = 0; count < 50; count += 1) bus.publish(messages.nodeCancel, { node: 'n' }, { taskUid: 'u', reason: 'r' });
    await eventually(() => expect((got[0] ?? 0) + (got[1] ?? 0)).toBe(50));
  });

  it('refuse a payload that is not what the catalogue says, at both ends', async () => {
    expect(() => bus.publish(messages.nodeCancel, { node: 'n' }, { taskUid: 'u' } as never)).toThrow(/reason/);
    const got: string[] = [];
    await kept(bus.subscribe(messages.nodeCancel, {}, ({ payload }) => void got.push(payload.reason)));
    const before = bus.health().counts?.invalid ?? 0;
    for (const body of ['not json', '{"taskUid":1}', '{"taskUid":"u","reason":"good"}']) person.publish('rounds.v1.node.n.cancel', body);
    await eventually(() => expect(got).toEqual(['good']));
    expect(bus.health().counts?.invalid).toBe(before + 2);
  });

  it('drop what speaks for somebody else than its subject, on which the rights of its sender are written', async () => {
    const beat = { runner: 'r.1', node: 'n.1', runtime: 'default', instance: 'i', sentAt: '2026-01-01T00:00:00Z', version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1 };
    const got: string[] = [];
    await kept(bus.subscribe(messages.runnerBeat, {}, ({ payload }) => void got.push(`${payload.node} ${payload.runner} ${payload.version}`)));
    const before = bus.health().counts?.invalid ?? 0;
    for (const said of [{ runner: 'r.2' }, { node: 'n.2' }, { version: 'last' }]) bus.publish(messages.runnerBeat, { node: 'n.1', runner: 'r.1' }, { ...beat, ...said });
    await eventually(() => expect(got).toEqual(['n.1 r.1 last']));
    expect(bus.health().counts?.invalid).toBe(before + 2);
  });

  it('never let a name widen a subject', async () => {
    const got: string[] = [];
    await kept(bus.subscribe(messages.nodeCancel, {}, ({ subject }) => void got.push(subject)));
    for (const name of ['>', '*', 'a b', 'x.*', 'x\r\nPUB rounds.v1.node.n.cancel 2\r\n{}']) {
      expect(() => bus.publish(messages.nodeCancel, { node: name }, { taskUid: 'u', reason: 'r' })).toThrow(/subject token/);
      await expect(bus.subscribe(messages.nodeCancel, { node: name }, () => {})).rejects.toThrow(/subject token/);
    }
    bus.publish(messages.nodeCancel, { node: 'last' }, { taskUid: 'u', reason: 'r' });
    await eventually(() => expect(got).toEqual(['rounds.v1.node.last.cancel']));
  });
});

describe('request and serve', () => {
  const info = { name: 'intake', version: '1.2.3', description: 'Admits writes' };
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404, message: 'nodes "x" not found' };
  const served = (): Promise<Subscription> =>
    kept(
      bus.serve(info, [
        endpoint(messages.get, ({ name }) => {
          if (name === 'x') throw new ServiceError(404, status.message, status);
          if (name === 'bug') throw new TypeError('cannot read\nanything');
          if (name === 'bad') return { wrong: true } as never;
          return node(name);
        }),
        endpoint(messages.list, ({ limit }) => ({ version: limit, items: [] })),
        endpoint(messages.committed, ({ rounds }, params) => ({ committed: params['runner'] === 'r.1' ? rounds : [] })),
      ]),
    );

  it('answer with what the handler gives, its params decoded and its request with defaults', async () => {
    await served();
    expect(await bus.request(messages.get, {}, { resource: 'nodes', name: 'n1' })).toEqual(node('n1'));
    expect(await bus.request(messages.list, {}, { resource: 'nodes' })).toEqual({ version: 500, items: [] });
    expect(await bus.request(messages.committed, { runner: 'r.1' }, { rounds: [{ taskUid: 'u', round: 1 }] })).toEqual({ committed: [{ taskUid: 'u', round: 1 }] });
  });

  it('carry a Kubernetes Status with its code', async () => {
    await served();
    const error = await bus.request(messages.get, {}, { resource: 'nodes', name: 'x' }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ code: 404, message: status.message, body: status });
  });

  it('turn a bug and a bad reply into a 500, a bad request into a 400 that names the field', async () => {
    await served();
    await expect(bus.request(messages.get, {}, { resource: 'nodes', name: 'bug' })).rejects.toMatchObject({ code: 500, message: 'cannot read anything' });
    await expect(bus.request(messages.get, {}, { resource: 'nodes', name: 'bad' })).rejects.toMatchObject({ code: 500 });
    const reply = await person.request('rounds.v1.svc.intake.get', '{"resource":"nodes"}');
    expect(reply.headers?.get('Nats-Service-Error-Code')).toBe('400');
    expect(reply.headers?.get('Nats-Service-Error')).toContain('name');
    await expect(bus.request(messages.get, {}, { resource: 'nodes' } as never)).rejects.toThrow(/name/);
  });

  it('answer plain JSON to a person, to an empty body too', async () => {
    await served();
    expect((await person.request('rounds.v1.svc.intake.get', '{"resource":"nodes","name":"n1"}')).json()).toEqual(node('n1'));
    const empty = await person.request('rounds.v1.svc.intake.list', '');
    expect(empty.headers?.get('Nats-Service-Error')).toContain('resource');
  });

  it('are Unreachable at once when nobody serves, and in time when nobody answers', async () => {
    const started = performance.now();
    await expect(bus.request(messages.write, {}, { operation: 'create', resource: 'nodes' }, { timeoutMs: 100_000 })).rejects.toThrow(Unreachable);
    expect(performance.now() - started).toBeLessThan(20_000);
    const silent = person.subscribe('rounds.v1.svc.intake.write');
    await person.flush();
    await expect(bus.request(messages.write, {}, { operation: 'create', resource: 'nodes' }, { timeoutMs: 100 })).rejects.toThrow(/within 100 ms/);
    silent.unsubscribe();
  });

  it('speak the micro protocol on all nine subjects', async () => {
    await served();
    await bus.request(messages.get, {}, { resource: 'nodes', name: 'n1' });
    await bus.request(messages.get, {}, { resource: 'nodes', name: 'x' }).catch(() => {});
    const ping = (await person.request('$SRV.PING', '')).json<{ id: string }>();
    expect(ping).toEqual({ type: 'io.nats.micro.v1.ping_response', name: 'intake', version: '1.2.3', metadata: {}, id: expect.any(String) });
    for (const verb of ['PING', 'INFO', 'STATS']) {
      for (const subject of [`$SRV.${verb}`, `$SRV.${verb}.intake`, `$SRV.${verb}.intake.${ping.id}`]) {
        expect((await person.request(subject, '')).json()).toMatchObject({ type: `io.nats.micro.v1.${verb.toLowerCase()}_response`, id: ping.id });
      }
    }
    const described = (await person.request('$SRV.INFO.intake', '')).json<{ endpoints: unknown[] }>();
    expect(described).toMatchObject({ description: 'Admits writes' });
    expect(described.endpoints).toContainEqual({ name: 'get', subject: 'rounds.v1.svc.intake.get', queue_group: 'q', metadata: { description: 'One object by name' } });
    expect(described.endpoints).toContainEqual(expect.objectContaining({ name: 'committed', subject: 'rounds.v1.svc.reporter.committed.*' }));
    const stats = (await person.request('$SRV.STATS.intake', '')).json<{ started: string; endpoints: { name: string }[] }>();
    expect(Date.parse(stats.started)).not.toBeNaN();
    const get = stats.endpoints.find(({ name }) => name === 'get');
    expect(get).toMatchObject({ num_requests: 2, num_errors: 1, last_error: status.message });
    expect(get).toMatchObject({ processing_time: expect.any(Number), average_processing_time: expect.any(Number) });
  });

  it('serve a request by one of several instances, and by none after stop', async () => {
    const second = await nats.connect('intake');
    const answered = new Set<number>();
    const instances = await Promise.all(
      [bus, second].map((instance, index) =>
        instance.serve(info, [
          endpoint(messages.get, () => {
            answered.add(index);
            return node(`n${index}`);
          }),
        ]),
      ),
    );
    for (let count = 0; count < 40; count += 1) await bus.request(messages.get, {}, { resource: 'nodes', name: 'n' });
    expect([...answered].sort()).toEqual([0, 1]);
    for (const instance of instances) await instance.stop();
    await expect(bus.request(messages.get, {}, { resource: 'nodes', name: 'n' })).rejects.toThrow(Unreachable);
  });
});

describe('append', () => {
  it('keeps a Msg-Id once', async () => {
    const first = await bus.append(messages.report, reportParams, reportOf(1), { msgId: 'u:1' });
    expect(first.duplicate).toBe(false);
    expect(await bus.append(messages.report, reportParams, reportOf(1), { msgId: 'u:1' })).toEqual({ seq: first.seq, duplicate: true });
  });

  it('keeps one live command per subject, whatever its Msg-Id', async () => {
    const order = {
      runner: 'r1', node: 'n1', kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round: 1, roundStart: '2026-01-01T00:00:00Z', deadline: '2026-01-01T00:01:00Z',
      request: { durationMs: 1, qps: 1, timeoutMs: 1 }, expect: {}, targets: [], needsMaterials: false,
    } as const;
    const params = { runner: 'r1', kind: 'NetReach', taskUid: 'u', round: 1 };
    expect(await bus.append(messages.work, params, { ...order, targets: [] }, { msgId: 'first' })).toMatchObject({ duplicate: false });
    expect(await bus.append(messages.work, params, { ...order, targets: [] }, { msgId: 'second' })).toMatchObject({ duplicate: true });
  });

  it('says so when there is no stream for it', async () => {
    const other = await startNats();
    try {
      const lonely = await other.connect('reporter');
      await expect(lonely.append(messages.report, reportParams, reportOf(1), { msgId: 'x' })).rejects.toThrow(/REPORT is missing/);
    } finally {
      await other.stop();
    }
  });

  it('refuses what the schema refuses', async () => {
    await expect(bus.append(messages.report, reportParams, { ...reportOf(1), round: 'one' } as never, { msgId: 'y' })).rejects.toThrow(/round/);
  });
});

describe('replay', () => {
  it('gives what there is after a sequence, in order, and follows', async () => {
    const params = { kind: 'NetReach', namespace: 'default', task: 'replayed' };
    const seqs: number[] = [];
    for (const round of [1, 2, 3]) seqs.push((await bus.append(messages.report, params, { ...reportOf(round), task: 'replayed' }, { msgId: `replayed:${round}` })).seq);
    const got: number[] = [];
    await kept(bus.replay(messages.report, params, { afterSeq: seqs[0] ?? 0 }, ({ payload }) => void got.push(payload.round)));
    await eventually(() => expect(got).toEqual([2, 3]));
    await bus.append(messages.report, { ...params, task: 'other' }, { ...reportOf(9), task: 'other' }, { msgId: 'other:9' });
    await bus.append(messages.report, params, { ...reportOf(4), task: 'replayed' }, { msgId: 'replayed:4' });
    await eventually(() => expect(got).toEqual([2, 3, 4]));
  });

  it('gives only what comes after now', async () => {
    const params = { kind: 'NetReach', namespace: 'default', task: 'news' };
    const append = (round: number) => bus.append(messages.report, params, { ...reportOf(round), task: 'news' }, { msgId: `news:${round}` });
    for (const round of [1, 2]) await append(round);
    const got: number[] = [];
    await kept(bus.replay(messages.report, params, { afterSeq: 'now' }, ({ payload }) => void got.push(payload.round)));
    let round = 2;
    // When it begins to hear nobody knows.
    await eventually(async () => {
      await append((round += 1));
      expect(got).not.toEqual([]);
    });
    await eventually(() => expect(got.at(-1)).toBe(round));
    expect(got).toEqual(Array.from({ length: got.length }, (_, index) => round - got.length + 1 + index));
    expect(got[0]).toBeGreaterThan(2);
  });
});

describe('ensureStreams', () => {
  it('may run again and corrects settings', async () => {
    const reply = await person.request('$JS.API.STREAM.INFO.WORK', '');
    const { config } = reply.json<{ config: Record<string, unknown> }>();
    expect(config).toMatchObject({ retention: 'workqueue', discard: 'new', discard_new_per_subject: true, max_msgs_per_subject: 1 });
    await person.request('$JS.API.STREAM.UPDATE.WORK', JSON.stringify({ ...config, max_bytes: 1_000_000 }));
    await ensureStreams(bus);
    expect((await person.request('$JS.API.STREAM.INFO.WORK', '')).json()).toMatchObject({ config });
  });
});

describe('closing', () => {
  it('lets requests in work finish', async () => {
    const server = await nats.connect('intake');
    let begun = false;
    let release = (): void => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    await server.serve({ name: 'intake', version: '1.0.0', description: 'x' }, [
      endpoint(messages.get, async () => {
        begun = true;
        await held;
        return node('late');
      }),
    ]);
    const answer = bus.request(messages.get, {}, { resource: 'nodes', name: 'n' });
    await eventually(() => begun);
    const closed = server.close();
    release();
    expect(await answer).toEqual(node('late'));
    await closed;
    await expect(server.request(messages.get, {}, { resource: 'nodes', name: 'n' })).rejects.toThrow(/closed/);
  });
});

describe('connectBus', () => {
  it('refuses a server that is too old, with a sentence', async () => {
    const old = createServer((socket) => {
      socket.write('INFO {"server_id":"x","version":"2.9.10","headers":true,"max_payload":1048576,"proto":1}\r\n');
      socket.on('data', (data) => void (data.includes('PING') && socket.write('PONG\r\n')));
    });
    await new Promise<void>((resolve) => void old.listen(0, '127.0.0.1', resolve));
    const { port } = old.address() as AddressInfo;
    await expect(connectBus({ servers: `nats://127.0.0.1:${port}`, identity: 'gateway' })).rejects.toThrow(/is version 2\.9\.10; Roundsman needs 2\.12 or later/);
    await new Promise((resolve) => void old.close(resolve));
  });

  it('says when the server no longer accepts it', async () => {
    const closed = await startNats({ identities: [{ name: 'gateway', role: 'gateway' }] });
    try {
      const lost = await new Promise<Error>((resolve, reject) => {
        closed
          .connect('gateway', { onFatal: resolve })
          .then(() => closed.replaceKeys())
          .catch(reject);
      });
      expect(lost.message).toMatch(/authorization/i);
    } finally {
      await closed.stop();
    }
  });

  it('comes again after a server that was too busy to look at log-ins in time, however often', async () => {
    const upstream = Number(new URL(nats.url).port);
    const sockets = new Set<Socket>();
    let busy = true;
    let late = 0;
    const door = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      if (busy) {
        late += 1;
        socket.end(`INFO {"server_id":"x","version":"2.12.0","headers":true,"max_payload":1048576,"proto":1}\r\n-ERR 'Authentication Timeout'\r\n`);
        return;
      }
      const server = createConnection(upstream, '127.0.0.1');
      sockets.add(server.on('error', () => undefined));
      socket.pipe(server).pipe(socket);
    });
    await new Promise<void>((resolve) => void door.listen(0, '127.0.0.1', resolve));
    const fatal: Error[] = [];
    const opened = connectBus({ servers: `nats://127.0.0.1:${(door.address() as AddressInfo).port}`, identity: 'gateway', onFatal: (error) => void fatal.push(error) });
    await eventually(() => expect(late).toBeGreaterThanOrEqual(3));
    busy = false;
    const guest = await opened;
    try {
      await kept(bus.serve({ name: 'intake', version: '1.0.0', description: 'x' }, [endpoint(messages.get, async () => node('there'))]));
      expect(await guest.request(messages.get, {}, { resource: 'nodes', name: 'n' })).toEqual(node('there'));
      [busy, late] = [true, 0];
      for (const socket of sockets) socket.destroy();
      await eventually(() => expect(late).toBeGreaterThanOrEqual(3));
      busy = false;
      await eventually(async () => expect(await guest.request(messages.get, {}, { resource: 'nodes', name: 'n' })).toEqual(node('there')));
      expect(fatal).toEqual([]);
    } finally {
      await guest.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => void door.close(resolve));
    }
  });

  it('says whom the server refuses', async () => {
    const closed = await startNats({ identities: [{ name: 'gateway', role: 'gateway' }] });
    try {
      await expect(connectBus({ servers: closed.url, identity: 'gateway' })).rejects.toThrow(/refused gateway/);
    } finally {
      await closed.stop();
    }
  });

  it('does not wait for what is no address', async () => {
    await expect(connectBus({ servers: 'nats://127.0.0.1:99999', identity: 'gateway' })).rejects.toThrow('Invalid URL');
  });

  it('names its connection and its inbox', async () => {
    const reply = person.subscribe(subjectOf(messages.get, {}), { callback: (_, msg) => void msg.respond(JSON.stringify({ ...node('x'), metadata: { name: msg.reply ?? '' } })) });
    await person.flush();
    const answer = await bus.request(messages.get, {}, { resource: 'nodes', name: 'x' });
    expect(answer.metadata.name).toMatch(/^_INBOX_intake\./);
    reply.unsubscribe();
  });
});
