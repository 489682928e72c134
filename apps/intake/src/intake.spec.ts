import 'reflect-metadata';
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { builtInNamespaces, type KubeObject } from '@roundsman/api';
import { messages, ServiceError, Unreachable, type Bus, type Change, type Write } from '@roundsman/bus';
import { ChangeFeed } from '@roundsman/reconcile';
import { makeLogger, runServices, type RunningServices } from '@roundsman/service';
import { migrateStore, openStore, type Store } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { Client } from 'pg';
import { service } from './index.ts';

let postgres: TestPostgres;
let nats: TestNats;
let url: string;
let bus: Bus;
let store: Store;
let running: RunningServices[] = [];
let children: ChildProcess[] = [];
let loads: { stop: () => Promise<void> }[] = [];
const lines: Record<string, unknown>[] = [];

beforeAll(async () => {
  [postgres, nats] = await Promise.all([startPostgres({ prepare: migrateStore }), startNats()]);
});
afterAll(() => Promise.all([postgres.stop(), nats.stop()]));
beforeEach(async () => {
  url = await postgres.createDatabase();
  bus = await nats.connect('tester');
  store = openStore(url);
  lines.length = 0;
});
afterEach(async () => {
  // Also after a failure: a load that goes on would write into the next test's database.
  const stopping = loads.splice(0).map((load) => load.stop());
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all(running.splice(0).map((services) => services.stop()));
  await store.close();
  await bus.close();
  await Promise.all(stopping);
});

const log = makeLogger({ level: 'info', format: 'json', stream: { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) } });
async function start(env: NodeJS.ProcessEnv = {}): Promise<RunningServices> {
  const services = await runServices([{ definition: service }], { env, log, databaseUrl: url, connect: (identity) => nats.connect(identity) });
  running.push(services);
  return services;
}

/** A separate process that can be killed; resolves when it leads, or after `wait: false` at once. */
async function startProcess(wait: boolean): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../test/instance.mjs')], { env: { ...process.env, NODE_OPTIONS: '', DATABASE_URL: url, NATS_URL: nats.url }, stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const output = createInterface({ input: child.stdout! });
  await new Promise<void>((resolve, reject) => {
    if (!wait) resolve();
    output.on('line', (line) => line.includes('"leading"') && resolve());
    child.once('exit', (code) => reject(new Error(`the instance ended (${code}): is everything built?`)));
  });
  return child;
}

/** Objects that are there from the start: namespaces, the priorities of the system, its Services, the classes of ingresses and volumes, the addresses of the cluster. */
const first = builtInNamespaces.length + 2 + 4 + 2 + 1;
const resource = 'netreaches.roundsman.io';
const write = (request: Write, timeoutMs: number = messages.write.timeoutMs): Promise<{ object: { metadata: Record<string, unknown> }; warnings: string[] }> => bus.request(messages.write, {}, { user: 'system:roundsman:tester', ...request }, { timeoutMs }) as never;
const create = (name: string, more: Partial<Write> = {}, timeoutMs?: number) => write({ operation: 'create', resource, namespace: 'default', object: { metadata: { name }, spec: { request: { qps: 1 } } }, ...more }, timeoutMs);
const setQps = (name: string, qps: number, metadata: object = {}) => write({ operation: 'update', resource, namespace: 'default', name, object: { metadata, spec: { request: { qps } } } });
const allChanges = async (): Promise<Change[]> => {
  const found: Change[] = [];
  for (let since = 0; ; ) {
    const page = await store.changes(since, { limit: 1000 });
    found.push(...page.changes);
    if (!page.more) return found;
    since = found.at(-1)!.version;
  }
};

/** All changes, and the objects of every resource at the same version: a write may come late whose asker gave up. */
async function allStored(): Promise<{ found: Change[]; listed: Map<string, KubeObject[]> }> {
  for (;;) {
    const found = await allChanges();
    const listed = new Map<string, KubeObject[]>();
    for (const of of new Set(found.map((change) => change.resource))) listed.set(of, (await store.list(of)).items);
    if ((await store.head()) === (found.at(-1)?.version ?? 0)) return { found, listed };
  }
}

/** Versions without a gap; each change names the one before it in its resource; the objects are where the changes lead. */
async function expectConsistent(): Promise<Change[]> {
  const { found, listed } = await allStored();
  const lastOf = new Map<string, number>();
  const state = new Map<string, Change>();
  for (const [index, change] of found.entries()) {
    expect(change.version).toBe(index + 1);
    expect(change.previous).toBe(index);
    expect(change.previousOfResource).toBe(lastOf.get(change.resource) ?? 0);
    expect(change.object.metadata.resourceVersion).toBe(String(change.version));
    lastOf.set(change.resource, change.version);
    const key = `${change.resource} ${change.namespace}/${change.name}`;
    const before = state.get(key);
    expect(change.type).toBe(before === undefined ? 'ADDED' : change.type === 'DELETED' ? 'DELETED' : 'MODIFIED');
    if (before !== undefined) expect(change.uid).toBe(before.uid);
    if (change.type === 'DELETED') state.delete(key);
    else state.set(key, change);
  }
  for (const [of, items] of listed) {
    const expected = [...state.values()].filter((change) => change.resource === of).map(({ object }) => object);
    expect(items.length).toBe(expected.length);
    const byUid = new Map(items.map((item) => [item.metadata.uid, item]));
    for (const object of expected) expect(byUid.get(object.metadata['uid'] as string)).toEqual(object);
  }
  return found;
}

describe('writes', () => {
  it('make the first namespaces, once', async () => {
    await start();
    expect((await store.list('namespaces')).items.map(({ metadata }) => metadata.name)).toEqual([...builtInNamespaces].sort());
    await running.pop()!.stop();
    await start();
    expect((await store.list('priorityclasses.scheduling.k8s.io')).items.map(({ metadata }) => metadata.name)).toEqual(['system-cluster-critical', 'system-node-critical']);
    expect(await store.head()).toBe(first);
  });
  it('make the class of volumes that was deleted again, but not the default where there is another', async () => {
    await start();
    const classes = 'storageclasses.storage.k8s.io';
    const own = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'own', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } }, provisioner: 'example.com/disks' };
    await write({ operation: 'create', resource: classes, name: 'own', object: own });
    await write({ operation: 'delete', resource: classes, name: 'local' });
    await running.pop()!.stop();
    await start();
    const defaults = (await store.list(classes)).items.map(({ metadata }) => [metadata.name, metadata.annotations?.['storageclass.kubernetes.io/is-default-class']]);
    expect(defaults).toEqual([['local', undefined], ['own', 'true']]);
  });
  it('in great number at once have no gaps, and are announced in order', async () => {
    await start();
    const heard: Change[] = [];
    await bus.subscribe(messages.change, {}, ({ payload }) => void heard.push(payload));
    const lane = async (index: number): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) {
        await create(`t-${index}-${turn}`);
        await setQps(`t-${index}-${turn}`, 2);
        if (turn % 2 === 0) await write({ operation: 'delete', resource, namespace: 'default', name: `t-${index}-${turn}` });
      }
    };
    await Promise.all(Array.from({ length: 60 }, (_, index) => lane(index)));
    const found = await expectConsistent();
    expect(found).toHaveLength(first + 60 * 13);
    await eventually(() => expect(heard).toHaveLength(60 * 13));
    expect(heard).toEqual(found.slice(first));
  });
  it('from one version: one wins, the others are told', async () => {
    await start();
    const { object } = await create('x');
    const { resourceVersion } = object.metadata;
    const results = await Promise.allSettled(Array.from({ length: 20 }, (_, index) => setQps('x', index + 2, { resourceVersion })));
    const refused = results.filter((result) => result.status === 'rejected').map(({ reason }) => (reason as ServiceError).code);
    expect(refused).toEqual(Array<number>(19).fill(409));
  });
  it('of the same name: one creates, the others hear that it exists', async () => {
    await start();
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => create('same')));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect((result.reason as ServiceError).body).toMatchObject({ reason: 'AlreadyExists' });
    expect((await store.list(resource)).items).toHaveLength(1);
  });
  it('are answered after the commit: what was answered can be read at once', async () => {
    await start();
    await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const { object } = await create(`r${index}`);
        expect(await store.get(resource, 'default', `r${index}`)).toEqual(object);
        expect(await bus.request(messages.get, {}, { resource, namespace: 'default', name: `r${index}` })).toEqual(object);
      }),
    );
  });
  it('without effect make no version; a dry run neither', async () => {
    await start();
    await create('x');
    const head = await store.head();
    await setQps('x', 1);
    await create('y', { dryRun: true });
    await expect(setQps('x', 0)).rejects.toMatchObject({ code: 422 });
    expect(await store.head()).toBe(head);
  });
  it('leave an audit line that says who did what, and never a secret', async () => {
    await start();
    await write({ operation: 'create', resource: 'secrets', namespace: 'default', user: 'ada', object: { metadata: { name: 's' }, stringData: { password: 'hunter2' } } });
    await expect(write({ operation: 'create', resource: 'secrets', namespace: 'default', user: 'ada', object: { metadata: { name: 't' }, stringData: { password: 12345678 } } })).rejects.toMatchObject({ code: 422 });
    await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ msg: 'write', user: 'ada', operation: 'create', resource: 'secrets', name: 's', version: first + 1 })));
    expect(JSON.stringify(lines)).not.toMatch(/hunter2|12345678|aHVudGVyMg/);
  });
  it('announces a secret without its content, and whoever may read the rows sees it whole', async () => {
    await start();
    const heard: string[] = [];
    await bus.subscribe(messages.change, {}, ({ payload }) => void heard.push(JSON.stringify(payload)));
    const feed = new ChangeFeed({ bus, source: store });
    await feed.start();
    const seen: Change[] = [];
    feed.follow({ resource: 'secrets', since: 0, change: (change) => void seen.push(change), relist: () => undefined });
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{"stringData":{"password":"hunter2"}}' };
    await write({ operation: 'create', resource: 'secrets', namespace: 'default', object: { metadata: { name: 's', annotations }, stringData: { password: 'hunter2' } } });
    await write({ operation: 'delete', resource: 'secrets', namespace: 'default', name: 's' });
    await eventually(() => expect(heard.filter((text) => text.includes('"secrets"'))).toHaveLength(2));
    expect(heard.filter((text) => text.includes('hunter2') || text.includes('aHVudGVyMg'))).toEqual([]);
    await eventually(() => expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'DELETED']));
    expect(seen[0]?.object).toMatchObject({ metadata: { annotations }, data: { password: 'aHVudGVyMg==' } });
    await feed.stop();
  });
});

describe('reads on the bus', () => {
  it('show secrets to nobody, only that they changed', async () => {
    await start();
    await write({ operation: 'create', resource: 'secrets', namespace: 'default', object: { metadata: { name: 's', annotations: { note: 'hunter2' } }, stringData: { password: 'hunter2' } } });
    const secret = { resource: 'secrets', namespace: 'default' };
    await expect(bus.request(messages.get, {}, { ...secret, name: 's' })).rejects.toMatchObject({ code: 403, message: expect.stringContaining('intake shows them to nobody') });
    await expect(bus.request(messages.list, {}, secret)).rejects.toMatchObject({ code: 403 });
    await expect(bus.request(messages.changes, {}, { since: 0, resource: 'secrets' })).rejects.toMatchObject({ code: 403 });
    const { changes } = await bus.request(messages.changes, {}, { since: 0 });
    expect(changes.at(-1)).toMatchObject({ resource: 'secrets', name: 's', withheld: true });
    expect(JSON.stringify(changes)).not.toMatch(/hunter2|aHVudGVyMg/);
  });
  it('page through a list', async () => {
    await start();
    await Promise.all(Array.from({ length: 25 }, (_, index) => create(`p${String(index).padStart(2, '0')}`, index % 2 === 0 ? { object: { metadata: { name: `p${String(index).padStart(2, '0')}`, labels: { even: 'yes' } } } } : {})));
    const names: string[] = [];
    let after: string | undefined;
    do {
      const page = await bus.request(messages.list, {}, { resource, limit: 10, ...(after !== undefined && { after }) });
      names.push(...page.items.map(({ metadata }) => metadata.name));
      after = page.next;
    } while (after !== undefined);
    expect(names).toEqual(Array.from({ length: 25 }, (_, index) => `p${String(index).padStart(2, '0')}`));
    expect((await bus.request(messages.list, {}, { resource, labelSelector: 'even=yes' })).items).toHaveLength(13);
    await expect(bus.request(messages.get, {}, { resource, namespace: 'default', name: 'nope' })).rejects.toMatchObject({ code: 404 });
  });
  it('give changes from a version, and 410 when they are trimmed', async () => {
    await start();
    for (let index = 0; index < 5; index++) await create(`c${index}`);
    const page = await bus.request(messages.changes, {}, { since: first + 2, limit: 2 });
    expect([page.head, page.more, page.changes.map(({ version }) => version)]).toEqual([first + 5, true, [first + 3, first + 4]]);
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('delete from roundsman.changes where version <= $1', [first + 3]);
    await client.end();
    await expect(bus.request(messages.changes, {}, { since: first + 2 })).rejects.toMatchObject({ code: 410, body: { reason: 'Expired' } });
    expect((await bus.request(messages.changes, {}, { since: first + 3 })).changes).toHaveLength(2);
  });
  it('tell the head in a beacon', async () => {
    await start();
    const heads: number[] = [];
    await bus.subscribe(messages.changeHead, {}, ({ payload }) => void heads.push(payload.version));
    await create('x');
    await eventually(() => expect(heads).toContain(first + 1));
  });
});

describe('a database that is down when intake starts', () => {
  it('is waited for, and then served', async () => {
    await postgres.kill('SIGINT');
    const starting = start();
    try {
      await eventually(() => expect(lines).toContainEqual(expect.objectContaining({ msg: 'waiting for the database' })));
    } finally {
      await postgres.restart();
    }
    await starting;
    await create('x');
    expect((await store.list(resource)).items.map(({ metadata }) => metadata.name)).toEqual(['x']);
  });
});

describe('namespaces', () => {
  it('take their objects along when they go, and nothing new meanwhile', async () => {
    await start();
    await write({ operation: 'create', resource: 'namespaces', object: { metadata: { name: 'shop' } } });
    for (const name of ['a', 'b']) await create(name, { namespace: 'shop' });
    await write({ operation: 'create', resource, namespace: 'shop', object: { metadata: { name: 'held', finalizers: ['test/held'] } } });
    await write({ operation: 'delete', resource: 'namespaces', name: 'shop' });
    await eventually(async () => expect((await store.page(resource, { namespace: 'shop' })).items.map(({ metadata }) => metadata.name)).toEqual(['held']));
    await expect(create('new', { namespace: 'shop' })).rejects.toMatchObject({ code: 403 });
    // The next leader goes on with it.
    await running.pop()!.stop();
    await start();
    await write({ operation: 'update', resource, namespace: 'shop', name: 'held', object: { metadata: { finalizers: [] } } });
    await eventually(async () => expect(await store.get('namespaces', undefined, 'shop')).toBeUndefined());
    await expectConsistent();
  });
});

/** Keeps writing through outages and notes what was accepted; stops when told to. */
function writer(prefix: string): { accepted: Map<string, number>; failures: Error[]; stop: () => Promise<void> } {
  const accepted = new Map<string, number>();
  const failures: Error[] = [];
  const until = { over: false };
  const lane = async (lane: number): Promise<void> => {
    for (let turn = 0; !until.over; turn++) {
      const name = `${prefix}-${lane}-${turn}`;
      try {
        // A killed leader answers nothing: no use in waiting long.
        const request: Write = { operation: 'create', resource, namespace: 'default', object: { metadata: { name } } };
        const { object } = await bus.request(messages.write, {}, request, { timeoutMs: 1_500 });
        accepted.set(name, Number(object.metadata['resourceVersion']));
      } catch (error) {
        failures.push(error as Error);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const lanes = Array.from({ length: 16 }, (_, index) => lane(index));
  const load = {
    accepted,
    failures,
    stop: async () => {
      until.over = true;
      await Promise.all(lanes);
    },
  };
  loads.push(load);
  return load;
}

/** Every accepted write is there, under the version it was told. */
async function expectKept(accepted: ReadonlyMap<string, number>): Promise<void> {
  const versions = new Map((await expectConsistent()).filter(({ type }) => type === 'ADDED').map(({ name, version }) => [name, version]));
  for (const [name, version] of accepted) expect([name, versions.get(name)]).toEqual([name, version]);
}
const grown = (accepted: ReadonlyMap<string, number>, by: number, within = 60_000) => {
  const from = accepted.size;
  return eventually(() => expect(accepted.size).toBeGreaterThanOrEqual(from + by), { within });
};

describe('faults', () => {
  it('a standby takes over from a leader that is killed in the middle of writes; nothing accepted is lost', async () => {
    const leader = await startProcess(true);
    await startProcess(false);
    const load = writer('k');
    await grown(load.accepted, 100);
    leader.kill('SIGKILL');
    await grown(load.accepted, 100);
    await load.stop();
    await expectKept(load.accepted);
  });
  it('a leader that stands still is replaced, and accepts nothing when it wakes up', async () => {
    const leader = await startProcess(true);
    await startProcess(false);
    const load = writer('z');
    await grown(load.accepted, 50);
    leader.kill('SIGSTOP');
    await grown(load.accepted, 50);
    leader.kill('SIGCONT');
    await grown(load.accepted, 200);
    await load.stop();
    await expectKept(load.accepted);
  });
  it('a leader whose database session ends accepts nothing more until it leads again', async () => {
    await start();
    const load = writer('t');
    await grown(load.accepted, 100);
    const admin = new Client({ connectionString: url });
    await admin.connect();
    for (let round = 0; round < 3; round++) {
      await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'roundsman leader intake' and datname = current_database()");
      await grown(load.accepted, 100);
    }
    await admin.end();
    await load.stop();
    await expectKept(load.accepted);
    for (const failure of load.failures) expect(failure instanceof Unreachable || (failure instanceof ServiceError && failure.code === 503)).toBe(true);
  });
  it('two instances never both lead: a session that ends hands over to the other one', async () => {
    await start();
    await startProcess(false);
    const load = writer('f');
    await grown(load.accepted, 50);
    const admin = new Client({ connectionString: url });
    await admin.connect();
    for (let round = 0; round < 4; round++) {
      await admin.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'roundsman leader intake' and datname = current_database()");
      await grown(load.accepted, 50);
    }
    await admin.end();
    await load.stop();
    await expectKept(load.accepted);
  });
  it('when Postgres hangs writes are given up in seconds, as unknown; afterwards all is told as it is', async () => {
    await start();
    const load = writer('h');
    await grown(load.accepted, 50);
    const admin = new Client({ connectionString: url });
    await admin.connect();
    const { rows } = await admin.query<{ pid: number }>("select pid from pg_stat_activity where application_name = 'roundsman leader intake' and datname = current_database()");
    await admin.end();
    process.kill(rows[0]!.pid, 'SIGSTOP');
    try {
      // Given up by intake, however long who asks would wait.
      await expect(create('hung', {}, 120_000)).rejects.toMatchObject({ code: 503 });
    } finally {
      process.kill(rows[0]!.pid, 'SIGCONT');
    }
    await grown(load.accepted, 50);
    await load.stop();
    await expectKept(load.accepted);
  });
  it('while Postgres is down writes fail soon; afterwards they work again, without a restart', async () => {
    const services = await start();
    const load = writer('p');
    await grown(load.accepted, 50);
    await postgres.kill();
    await eventually(() => expect(services.health.report().ready).toBe(false));
    // By whoever knows it, not because nobody answers.
    await expect(create('during', {}, 120_000)).rejects.toThrow(/^(?!no answer to )/);
    await postgres.restart();
    await grown(load.accepted, 50);
    expect(services.health.report().ready).toBe(true);
    await load.stop();
    await expectKept(load.accepted);
  });
  it('a stop answers what is on its way and hands over cleanly', async () => {
    await start();
    const load = writer('s');
    await grown(load.accepted, 50);
    await running.pop()!.stop();
    await start();
    await grown(load.accepted, 50);
    await load.stop();
    await expectKept(load.accepted);
  });
});

it('counts and times in Prometheus metrics', async () => {
  const { metrics } = await start();
  await create('x');
  await expect(create('x')).rejects.toMatchObject({ code: 409 });
  const text = await metrics.metrics();
  expect(text).toMatch(/roundsman_intake_writes_total\{operation="create",resource="netreaches.roundsman.io",outcome="committed"\} 1/);
  expect(text).toMatch(/outcome="AlreadyExists"\} 1/);
  expect(text).toMatch(/roundsman_intake_leader 1/);
  expect(text).toContain(`roundsman_intake_objects{resource="namespaces"} ${builtInNamespaces.length}`);
});
