import { request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bus, Delivered } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import { Client } from 'pg';
import { KubectlCluster } from './kubectl-cluster.ts';

interface WatchEvent {
  readonly type: string;
  readonly object: { kind: string; code?: number; reason?: string; metadata: { name: string; resourceVersion: string; annotations?: Record<string, string> }; data?: Record<string, string>; rows?: unknown[]; columnDefinitions?: unknown[] };
}
const path = '/api/v1/namespaces/default/configmaps';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';

/** What stands between the gateway and its changes in these tests. */
let fate: (subject: string) => 'arrives' | 'lost' | 'twice' | 'late' = () => 'arrives';
const wrap = (bus: Bus): Bus =>
  new Proxy(bus, {
    get: (target, property, receiver) => {
      if (property !== 'subscribe') {
        const member: unknown = Reflect.get(target, property, receiver);
        return typeof member === 'function' ? member.bind(target) : member;
      }
      return (message: never, params: never, handle: (delivered: Delivered<unknown>) => void) => {
        const late: Delivered<unknown>[] = [];
        return target.subscribe(message, params, (delivered: Delivered<unknown>) => {
          const what = fate(delivered.subject);
          if (what === 'late') late.push(delivered);
          else if (what !== 'lost') handle(delivered);
          if (what === 'twice') handle(delivered);
          if (what === 'arrives') for (const one of late.splice(0).reverse()) handle(one);
        });
      };
    },
  });

let cluster: KubectlCluster;
const open: ClientRequest[] = [];
beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.stopGateway();
  await cluster.startGateway(wrap);
});
afterAll(() => cluster?.stop());
beforeEach(() => {
  fate = () => 'arrives';
});
afterEach(() => {
  for (const one of open.splice(0)) one.destroy();
});

/** An open watch: its events as they come. `paused`: a client that does not read. */
function watch(query: string, options: { accept?: string; paused?: boolean; of?: string } = {}): Promise<{ events: WatchEvent[]; ended: Promise<void>; response: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const url = new URL(`${options.of ?? path}?watch=true&${query}`, cluster.url);
    const asked = request(url, { headers: { authorization: `Bearer ${cluster.token}`, accept: options.accept ?? 'application/json' } }, (response) => {
      const events: WatchEvent[] = [];
      let rest = '';
      const ended = new Promise<void>((done) => response.on('close', done));
      response.on('error', () => undefined);
      if (!options.paused) {
        response.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() as string;
          events.push(...lines.map((line) => JSON.parse(line) as WatchEvent));
        });
      }
      resolve({ events, ended, response });
    });
    asked.on('error', reject).end();
    open.push(asked);
  });
}

const write = async (method: string, name: string, body?: unknown): Promise<{ resourceVersion: string }> => {
  const answer = await cluster.http(method === 'POST' ? path : `${path}/${name}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
  });
  if (answer.status >= 300) throw new Error(answer.text);
  return (answer.json['metadata'] ?? {}) as { resourceVersion: string };
};
const create = (name: string, labels: Record<string, string> = {}, data: Record<string, string> = {}): Promise<{ resourceVersion: string }> => write('POST', name, { metadata: { name, labels }, data });
const head = async (): Promise<string> => ((await cluster.http(path)).json['metadata'] as { resourceVersion: string }).resourceVersion;
const shown = (events: readonly WatchEvent[]): string[] => events.map(({ type, object }) => `${type} ${object.metadata.name}`);

describe('a watch', () => {
  it('from a version sees what came after it, without one begins with what there is', async () => {
    await create('first');
    const version = await head();
    await create('second');
    const later = await watch(`resourceVersion=${version}`);
    const fresh = await watch('fieldSelector=metadata.name%3Dfirst');
    const zero = await watch('resourceVersion=0&fieldSelector=metadata.name%3Dfirst');
    await write('PATCH', 'first', { data: { a: '1' } });
    await write('DELETE', 'second');
    await eventually(() => expect(shown(later.events)).toEqual(['ADDED second', 'MODIFIED first', 'DELETED second']));
    await eventually(() => expect(shown(fresh.events)).toEqual(['ADDED first', 'MODIFIED first']));
    await eventually(() => expect(shown(zero.events)).toEqual(['ADDED first', 'MODIFIED first']));
    const versions = later.events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
  });

  it('of secrets sees them whole, though nothing of their content is announced', async () => {
    const of = '/api/v1/namespaces/default/secrets';
    const announced: unknown[] = [];
    fate = (subject) => (subject.includes('.change.secrets.') && announced.push(subject), 'arrives');
    const { events } = await watch('', { of });
    const send = async (method: string, url: string, body?: unknown): Promise<void> => {
      const answer = await cluster.http(url, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }), headers: { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' } });
      expect([method, answer.status < 300]).toEqual([method, true]);
    };
    await send('POST', of, { metadata: { name: 'key' }, stringData: { password: 'one' } });
    await send('PATCH', `${of}/key`, { stringData: { password: 'two' } });
    await send('DELETE', `${of}/key`);
    await eventually(() => expect(events.map(({ type, object }) => [type, object.data?.['password']])).toEqual([['ADDED', 'b25l'], ['MODIFIED', 'dHdv'], ['DELETED', 'dHdv']]));
    // What is in the database may be read before the word of it has come.
    await eventually(() => expect(announced).toHaveLength(3));
  });

  it('sees each change once and in order, whatever is lost, repeated or late', async () => {
    const version = await head();
    const watches = [await watch(`resourceVersion=${version}`), await watch(`resourceVersion=${version}&labelSelector=kind%3Dcounted`)];
    let seen = 0;
    fate = (subject) => {
      if (!subject.includes('.change.')) return 'arrives';
      seen += 1;
      return (['arrives', 'lost', 'twice', 'late', 'lost', 'lost', 'arrives'] as const)[seen % 7] as 'arrives';
    };
    const names = Array.from({ length: 40 }, (_, i) => `counted-${i}`);
    for (const name of names) await create(name, { kind: 'counted' });
    for (const { events } of watches) await eventually(() => expect(shown(events)).toEqual(names.map((name) => `ADDED ${name}`)), { within: 60_000 });
  });

  it('is told of the last change even when every message of it is lost', async () => {
    const { events } = await watch(`resourceVersion=${await head()}`);
    fate = (subject) => (subject.includes('change.') ? 'lost' : 'arrives');
    await create('unannounced');
    await eventually(() => expect(shown(events)).toEqual(['ADDED unannounced']), { within: 60_000 });
  });

  it('says that an object left or entered the selection', async () => {
    await create('mover', { team: 'a' });
    const a = await watch('labelSelector=team%3Da');
    const b = await watch(`labelSelector=team%3Db&resourceVersion=${await head()}`);
    await write('PATCH', 'mover', { metadata: { labels: { team: 'b' } } });
    await write('PATCH', 'mover', { data: { still: 'here' } });
    await write('PATCH', 'mover', { metadata: { labels: { team: 'a' } } });
    await write('DELETE', 'mover');
    await eventually(() => expect(shown(a.events)).toEqual(['ADDED mover', 'DELETED mover', 'ADDED mover', 'DELETED mover']));
    await eventually(() => expect(shown(b.events)).toEqual(['ADDED mover', 'MODIFIED mover', 'DELETED mover']));
  });

  it('from before the trim, or from a version that never was, ends with 410', async () => {
    for (let i = 0; i < 10; i++) await create(`filler-${i}`);
    const trim = new Client({ connectionString: cluster.databaseUrl });
    await trim.connect();
    await trim.query('delete from roundsman.changes where version < $1', [Number(await head()) - 5]);
    await trim.end();
    const { events, ended } = await watch('resourceVersion=1');
    await ended;
    expect(events).toMatchObject([{ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }]);
    const future = await watch('resourceVersion=99999999');
    await future.ended;
    expect(future.events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  });

  it('ends at its timeout, with a bookmark to go on from', async () => {
    const version = await head();
    const { events, ended } = await watch(`resourceVersion=${version}&allowWatchBookmarks=true&timeoutSeconds=1`);
    await ended;
    expect(events).toMatchObject([{ type: 'BOOKMARK', object: { kind: 'ConfigMap', metadata: { resourceVersion: expect.stringMatching(/^\d+$/) } } }]);
    expect(Number(events[0]?.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(version));
  });

  it('can mark the end of what it began with', async () => {
    const { events } = await watch('sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=0&fieldSelector=metadata.name%3Dfirst');
    await eventually(() => expect(events.map(({ type }) => type)).toEqual(['ADDED', 'BOOKMARK']));
    expect(events[1]?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
  });

  it('as tables: columns once, then rows', async () => {
    const { events } = await watch('fieldSelector=metadata.name%3Dfirst', { accept: table });
    await write('PATCH', 'first', { data: { b: '2' } });
    await eventually(() => expect(events).toHaveLength(2));
    expect(events[0]?.object).toMatchObject({ kind: 'Table', rows: [{ cells: ['first', expect.anything(), expect.anything()], object: { kind: 'PartialObjectMetadata' } }] });
    expect(events[0]?.object.columnDefinitions).toHaveLength(3);
    expect(events[1]?.object.columnDefinitions).toBeUndefined();
  });

  it('whose client does not read is cut off; others go on', async () => {
    const version = await head();
    const slow = await watch(`resourceVersion=${version}`, { paused: true });
    const good = await watch(`resourceVersion=${version}`);
    const big = { blob: 'x'.repeat(600_000) };
    let written = 0;
    for (; written < 60 && !slow.response.closed; written++) await create(`big-${written}`, {}, big);
    slow.response.resume();
    await slow.ended;
    expect(slow.response.complete).toBe(false);
    await eventually(() => expect(good.events).toHaveLength(written));
    for (let i = 0; i < written; i++) await write('DELETE', `big-${i}`);
  });

  it('outlives NATS and intake', async () => {
    const { events } = await watch(`resourceVersion=${await head()}`);
    await create('before');
    await cluster.nats.restart();
    await cluster.stopIntake();
    await cluster.startIntake();
    // Where the answer was lost it is there when it is tried again.
    await eventually(() => create('after').catch((error: Error) => expect(error.message).toContain('"AlreadyExists"')), { within: 60_000 });
    await eventually(() => expect(shown(events)).toEqual(['ADDED before', 'ADDED after']), { within: 60_000 });
  });
});
