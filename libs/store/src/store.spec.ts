import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { matchesFields, matchesLabels, parseFieldSelector, parseLabelSelector, type KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import { Expired } from '@roundsman/reconcile';
import { startPostgres, type TestPostgres } from '@roundsman/testkit';
import * as fc from 'fast-check';
import { Client, clientConfig } from './connection.ts';
import { migrateStore } from './migrate.ts';
import { openStore, type Store } from './store.ts';
import { commitChanges, loadState, recentChanges, trimChanges, trimHistory } from './writer.ts';

let postgres: TestPostgres;
let url: string;
let client: Client;
let store: Store;

beforeAll(async () => {
  postgres = await startPostgres({ prepare: migrateStore });
});
afterAll(() => postgres.stop());
beforeEach(async () => {
  url = await postgres.createDatabase();
  client = new Client(clientConfig(url, 'test'));
  await client.connect();
  store = openStore(url);
});
afterEach(async () => {
  await store.close();
  await client.end();
});

const resource = 'netreaches.roundsman.io';
/** Changes in order, versions from `from`; each of an object `namespace/name` with labels and a phase. */
function changesOf(from: number, specs: readonly { type?: Change['type']; resource?: string; namespace?: string; name: string; labels?: Record<string, string>; phase?: string }[]): Change[] {
  const last = new Map<string, number>();
  return specs.map((spec, index) => {
    const version = from + index;
    const of = spec.resource ?? resource;
    const { type = 'ADDED', namespace = 'default', name, labels, phase } = spec;
    const change: Change = {
      type, version, previous: version - 1, previousOfResource: last.get(of) ?? 0, resource: of, namespace, name, uid: `uid-${name}`,
      object: { apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: String(version), ...(labels && { labels }) }, ...(phase !== undefined && { status: { phase } }) },
    };
    last.set(of, version);
    return change;
  });
}
const names = (items: readonly KubeObject[]): string[] => items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);

describe('commit', () => {
  it('keeps every change and the state they lead to, in one transaction', async () => {
    const batch = changesOf(1, [{ name: 'a' }, { name: 'b' }, { type: 'MODIFIED', name: 'a', phase: 'x' }, { type: 'DELETED', name: 'b' }, { name: 'c' }, { type: 'DELETED', name: 'c' }, { name: 'c', phase: 'new' }]);
    await commitChanges(client, batch);
    expect((await store.changes(0, { limit: 100 })).changes).toEqual(batch);
    const { version, items } = await store.list(resource);
    expect(version).toBe(7);
    expect(items).toEqual([batch[2]!.object, batch[6]!.object]);
    expect(await store.get(resource, 'default', 'c')).toEqual(batch[6]!.object);
    expect(await store.get(resource, 'default', 'b')).toBeUndefined();
    expect(await store.lastChange(resource, 'default', 'b')).toEqual(batch[3]);
    expect(await store.lastChange(resource, 'default', 'c')).toEqual(batch[6]);
    expect(await store.lastChange(resource, 'default', 'd')).toBeUndefined();
    await client.query(`update roundsman.changes set at = timestamptz '2026-01-02T03:04:05Z' + version * interval '1 s'`);
    expect(await store.oldestChangeAt()).toEqual(new Date('2026-01-02T03:04:06Z'));
    await client.query('delete from roundsman.changes where version = 1');
    expect(await store.oldestChangeAt()).toEqual(new Date('2026-01-02T03:04:07Z'));
    await client.query('delete from roundsman.changes');
    expect(await store.oldestChangeAt()).toBeUndefined();
  });
  it('is all or nothing', async () => {
    await commitChanges(client, changesOf(1, [{ name: 'a' }]));
    await expect(commitChanges(client, [...changesOf(2, [{ name: 'b' }]), ...changesOf(1, [{ name: 'c' }])])).rejects.toThrow(/duplicate key/);
    expect(await store.head()).toBe(1);
    expect(names((await store.list(resource)).items)).toEqual(['default/a']);
  });
  it('carries any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
        const wellFormed = text.toWellFormed().replaceAll('\0', '');
        const version = (await store.head()) + 1;
        await commitChanges(client, changesOf(version, [{ name: 'a', phase: wellFormed }, { name: 'b', phase: `{"\\"${wellFormed}` }]));
        expect(await store.get(resource, 'default', 'a')).toHaveProperty('status.phase', wellFormed);
        expect(await store.get(resource, 'default', 'b')).toHaveProperty('status.phase', `{"\\"${wellFormed}`);
      }),
      { numRuns: 50 },
    );
  });
  it('is read back whole by the next leader', async () => {
    await commitChanges(client, changesOf(1, [{ name: 'a' }, { resource: 'secrets', name: 's' }, { type: 'DELETED', resource: 'secrets', name: 's' }]));
    const state = await loadState(client);
    expect(state.head).toBe(3);
    expect(state.objects.map(({ name }) => name)).toEqual(['a']);
    expect(Object.fromEntries(state.lastOfResource)).toEqual({ [resource]: 1, secrets: 3 });
    expect((await recentChanges(client, 2)).map(({ version }) => version)).toEqual([2, 3]);
  });
});

describe('lists', () => {
  it('are paged by namespace and name, all pages with the version of the first', async () => {
    await commitChanges(client, changesOf(1, ['c', 'a', 'b'].flatMap((name) => [{ name, namespace: 'n1' }, { name, namespace: 'n2' }])));
    const first = await store.page(resource, { limit: 4 });
    expect(names(first.items)).toEqual(['n1/a', 'n1/b', 'n1/c', 'n2/a']);
    await commitChanges(client, changesOf(7, [{ name: 'aa', namespace: 'n1' }, { type: 'DELETED', name: 'b', namespace: 'n2' }]));
    const second = await store.page(resource, { limit: 4, continue: first.continue });
    expect(names(second.items)).toEqual(['n2/c']);
    expect([first.version, second.version]).toEqual([6, 6]);
    expect(second.continue).toBeUndefined();
    expect(names((await store.page(resource, { namespace: 'n2' })).items)).toEqual(['n2/a', 'n2/c']);
  });
  it('refuse a token of somebody else, and end with 410 when its history is gone', async () => {
    await commitChanges(client, changesOf(1, Array.from({ length: 10 }, (_, index) => ({ name: `x${index}` }))));
    const { continue: token } = await store.page(resource, { limit: 2 });
    for (const bad of ['garbage', Buffer.from('[1]').toString('base64url')]) await expect(store.page(resource, { continue: bad })).rejects.toMatchObject({ code: 400 });
    await commitChanges(client, changesOf(11, [{ type: 'MODIFIED', name: 'x1' }, { type: 'MODIFIED', name: 'x1' }]));
    await trimChanges(client, { changes: 1, ageMs: 3_600_000 });
    await expect(store.page(resource, { limit: 2, continue: token })).rejects.toMatchObject({ code: 410 });
  });
  it('select as the same selectors do in memory', async () => {
    const values = fc.constantFrom('', 'x', 'y', 'false');
    const keys = fc.constantFrom('a', 'b', 'e.io/c');
    const objects = fc.uniqueArray(fc.record({ name: fc.constantFrom('n0', 'n1', 'n2', 'n3', 'n4', 'n5'), labels: fc.option(fc.dictionary(keys, values), { nil: undefined }), phase: fc.option(values, { nil: undefined }) }), { selector: ({ name }) => name, minLength: 1 });
    const requirement = fc.oneof(
      fc.tuple(keys, fc.constantFrom('=', '!='), values).map((parts) => parts.join('')),
      fc.tuple(keys, fc.constantFrom('in', 'notin'), fc.array(values, { minLength: 1 })).map(([key, operator, list]) => `${key} ${operator} (${list.join(',')})`),
      keys, keys.map((key) => `!${key}`),
    );
    const kind = { namespaced: true, fieldSelectors: ['status.phase'] };
    const fields = fc.oneof(fc.constant(''), fc.tuple(fc.constantFrom('status.phase', 'metadata.name'), fc.constantFrom('=', '!='), fc.constantFrom('', 'x', 'n1', 'false', 'true')).map((parts) => parts.join('')));
    let version = 0;
    await fc.assert(
      fc.asyncProperty(objects, fc.array(requirement, { maxLength: 3 }), fields, async (specs, labelParts, fieldSelector) => {
        const before = (await store.list(resource)).items.map(({ metadata }) => ({ type: 'DELETED' as const, name: metadata.name }));
        const batch = changesOf(version + 1, [...before, ...specs.map(({ name, labels, phase }) => ({ name, ...(labels && { labels }), ...(phase !== undefined && { phase }) }))]);
        version += batch.length;
        await commitChanges(client, batch);
        const labels = parseLabelSelector(labelParts.join(','));
        const requirements = parseFieldSelector(fieldSelector, kind);
        const expected = (await store.list(resource)).items.filter((object) => matchesLabels(labels, object.metadata.labels) && matchesFields(requirements, object));
        expect((await store.page(resource, { labels, fields: requirements })).items).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

describe('changes', () => {
  it('are read from any version, for one resource or all', async () => {
    await commitChanges(client, changesOf(1, [{ name: 'a' }, { resource: 'secrets', name: 's' }, { name: 'b' }, { resource: 'secrets', name: 't' }]));
    const page = await store.changes(1, { limit: 2 });
    expect([page.head, page.more, page.changes.map(({ version }) => version)]).toEqual([4, true, [2, 3]]);
    const secrets = await store.changes(0, { resource: 'secrets', limit: 10 });
    expect(secrets.changes.map(({ version, previousOfResource }) => [version, previousOfResource])).toEqual([[2, 0], [4, 2]]);
    expect(await store.changes(4, { limit: 10 })).toEqual({ head: 4, changes: [], more: false });
  });
  it('end with Expired once they are trimmed, by count or age; the newest stays', async () => {
    await commitChanges(client, changesOf(1, Array.from({ length: 20 }, (_, index) => ({ name: `x${index}` }))));
    expect(await trimChanges(client, { changes: 5, ageMs: 3_600_000 })).toBe(15);
    await expect(store.changes(14, { limit: 1 })).rejects.toThrow(Expired);
    await expect(store.changes(0, { resource: 'secrets', limit: 1 })).rejects.toThrow(Expired);
    expect((await store.changes(15, { limit: 10 })).changes).toHaveLength(5);
    await client.query("update roundsman.changes set at = now() - interval '2 hours'");
    expect(await trimChanges(client, { changes: 1000, ageMs: 3_600_000 })).toBe(4);
    expect(await store.head()).toBe(20);
    expect(await trimChanges(client, { changes: 1000, ageMs: 0 })).toBe(0);
  });
  it('are trimmed in bites', async () => {
    await commitChanges(client, changesOf(1, Array.from({ length: 20 }, (_, index) => ({ name: `x${index}` }))));
    expect(await trimChanges(client, { changes: 5, ageMs: 3_600_000 }, 10)).toBe(10);
    expect(await trimChanges(client, { changes: 5, ageMs: 3_600_000 }, 10)).toBe(5);
  });
  it('are trimmed bite after bite until none is left, or until there is better to do', async () => {
    await commitChanges(client, changesOf(1, Array.from({ length: 50 }, (_, index) => ({ name: `x${index}` }))));
    const keep = { changes: 5, ageMs: 3_600_000 };
    expect(await trimHistory(client, keep, { batch: 10, goOn: () => false })).toBe(10);
    expect(await trimHistory(client, keep, { batch: 10 })).toBe(35);
    await expect(store.changes(44, { limit: 1 })).rejects.toThrow(Expired);
    expect((await store.changes(45, { limit: 10 })).changes).toHaveLength(5);
  });
});

describe('migration', () => {
  it('can be run by several processes at once, and again', async () => {
    await client.query('drop schema roundsman cascade');
    await Promise.all([migrateStore(url), migrateStore(url), migrateStore(url)]);
    await migrateStore(url);
    expect(await store.head()).toBe(0);
  });
  it('refuses a database of a newer version', async () => {
    await client.query("insert into roundsman.store_migrations (timestamp, name) values (1, 'FromTheFuture')");
    await expect(migrateStore(url)).rejects.toThrow(/newer version of Roundsman \(FromTheFuture\)/);
  });
});
