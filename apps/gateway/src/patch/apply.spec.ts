import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, dictionary, integer, property, record, tuple } from 'fast-check';
import { applyConfiguration } from './apply.ts';
import { fieldsOf, fromFieldsV1, toFieldsV1 } from './fields.ts';
import type { JsonObject } from './lists.ts';
import { managersOf, recordUpdate } from './managed.ts';

const now = Date.parse('2026-01-02T03:04:05Z');
const by = (manager: string, force = false): Parameters<typeof applyConfiguration>[2] => ({ manager, apiVersion: 'example/v1', now, force });
const thing = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({ apiVersion: 'example/v1', kind: 'Thing', metadata: { name: 'x', ...metadata }, spec });
const specOf = (object: JsonObject): unknown => object['spec'];
const owners = (object: JsonObject): Record<string, string[]> => Object.fromEntries(managersOf(object).map(({ manager, operation, fields }) => [`${manager}/${operation}`, [...fields].sort()]));

describe('applyConfiguration', () => {
  it('creates, owns what it sends, and is the same when applied again', () => {
    const first = applyConfiguration(undefined, thing({ a: 1, deep: { b: 2 } }), by('me'));
    expect(specOf(first)).toEqual({ a: 1, deep: { b: 2 } });
    expect(owners(first)).toEqual({ 'me/Apply': ['["f:spec","f:a"]', '["f:spec","f:deep","f:b"]'] });
    expect(applyConfiguration(first, thing({ a: 1, deep: { b: 2 } }), { ...by('me'), now: now + 60_000 })).toEqual(first);
  });

  it('removes what it no longer sends, keeps what others own', () => {
    const live = applyConfiguration(undefined, thing({ a: 1, b: { c: 2 }, list: [1] }), by('me'));
    const changed = structuredClone(live);
    (changed['spec'] as JsonObject)['other'] = true;
    recordUpdate(live, changed, { manager: 'someone', apiVersion: 'example/v1', now });
    const next = applyConfiguration(changed, thing({ a: 1 }), by('me'));
    expect(specOf(next)).toEqual({ a: 1, other: true });
  });

  it('a field of another manager with another value is a conflict that names it; the same value is shared', () => {
    const live = applyConfiguration(undefined, thing({ a: 1, b: 1 }), by('one'));
    const refused = (): unknown => applyConfiguration(live, thing({ a: 2, b: 1 }), by('two'));
    expect(refused).toThrow('Apply failed with 1 conflict: conflict with "one": .spec.a');
    try {
      refused();
    } catch (error) {
      expect(error).toMatchObject({ code: 409, status: { reason: 'Conflict', details: { causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.a' }] } } });
    }
    const shared = applyConfiguration(live, thing({ b: 1 }), by('two'));
    expect(owners(shared)).toMatchObject({ 'one/Apply': ['["f:spec","f:a"]', '["f:spec","f:b"]'], 'two/Apply': ['["f:spec","f:b"]'] });
    // One of two owners lets go: the value stays.
    expect(specOf(applyConfiguration(shared, thing({ a: 1 }), by('one')))).toEqual({ a: 1, b: 1 });
  });

  it('force takes the field over', () => {
    const live = applyConfiguration(undefined, thing({ a: 1, b: 1 }), by('one'));
    const forced = applyConfiguration(live, thing({ a: 2 }), by('two', true));
    expect(specOf(forced)).toEqual({ a: 2, b: 1 });
    expect(owners(forced)).toEqual({ 'two/Apply': ['["f:spec","f:a"]'], 'one/Apply': ['["f:spec","f:b"]'] });
  });

  it('keyed lists are owned by item, sets by value', () => {
    const conditions = (type: string, status: string): JsonObject => ({ apiVersion: 'v1', kind: 'Thing', metadata: { name: 'x', finalizers: [type.toLowerCase()] }, status: { conditions: [{ type, status }] } });
    const one = applyConfiguration(undefined, conditions('Ready', 'True'), by('one'));
    const two = applyConfiguration(one, conditions('Synced', 'False'), by('two'));
    expect(two['status']).toEqual({ conditions: [{ type: 'Ready', status: 'True' }, { type: 'Synced', status: 'False' }] });
    expect((two['metadata'] as JsonObject)['finalizers']).toEqual(['ready', 'synced']);
    const gone = applyConfiguration(two, { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'x' } }, by('one'));
    expect(gone['status']).toEqual({ conditions: [{ type: 'Synced', status: 'False' }] });
    expect((gone['metadata'] as JsonObject)['finalizers']).toEqual(['synced']);
  });

  it('whatever managers apply in turn with force, the last one sees all its fields, and owns nothing else', () => {
    const spec = dictionary(constantFrom('a', 'b', 'c'), constantFrom(1, 2, 3), { maxKeys: 3 });
    const step = record({ manager: constantFrom('one', 'two', 'three'), spec });
    assert(
      property(array(step, { minLength: 1, maxLength: 8 }), (steps) => {
        let live: JsonObject | undefined;
        for (const { manager, spec: wanted } of steps) {
          live = applyConfiguration(live, thing(wanted as JsonObject), by(manager, true));
          expect(live['spec'] ?? {}).toMatchObject(wanted);
          expect((owners(live)[`${manager}/Apply`] ?? []).filter((path) => path !== '["f:spec"]')).toEqual(Object.keys(wanted).sort().map((key) => JSON.stringify(['f:spec', `f:${key}`])));
        }
        // Every field that is there has an owner, and every owned field is there.
        const owned = new Set(Object.values(owners(live as JsonObject)).flat());
        const fields = (set: Iterable<string>): string[] => [...set].filter((path) => path !== '["f:spec"]').sort();
        expect(fields(owned)).toEqual(fields(fieldsOf(live as JsonObject)));
      }),
    );
  });
});

describe('recordUpdate', () => {
  it('who changes a field owns it alone; who removes it, nobody does', () => {
    const live = applyConfiguration(undefined, thing({ a: 1, b: 1, c: 1 }), by('applier'));
    const next = structuredClone(live);
    next['spec'] = { a: 2, b: 1, d: 4 };
    recordUpdate(live, next, { manager: 'editor', apiVersion: 'example/v1', now });
    expect(owners(next)).toEqual({ 'applier/Apply': ['["f:spec","f:b"]'], 'editor/Update': ['["f:spec","f:a"]', '["f:spec","f:d"]'] });
  });

  it('keeps at most ten updaters: the oldest become one entry', () => {
    let live = thing({});
    recordUpdate(undefined, live, { manager: 'm0', apiVersion: 'v1', now });
    for (let i = 1; i <= 15; i++) {
      const next = structuredClone(live);
      (next['spec'] as JsonObject)[`f${i}`] = i;
      recordUpdate(live, next, { manager: `m${i}`, apiVersion: 'v1', now: now + i * 1000 });
      live = next;
    }
    const found = managersOf(live);
    expect(found).toHaveLength(10);
    expect(found.map(({ manager }) => manager)).toContain('ancient-changes');
    expect(found.flatMap(({ fields }) => [...fields])).toHaveLength(15);
  });

  it('a client may reset the owners', () => {
    const live = applyConfiguration(undefined, thing({ a: 1 }), by('one'));
    const next = structuredClone(live);
    (next['metadata'] as JsonObject)['managedFields'] = [{}];
    recordUpdate(live, next, { manager: 'admin', apiVersion: 'v1', now });
    expect(owners(next)).toEqual({});
  });

  it.each([[[{ manager: 'x' }]], [[{ manager: 'x', operation: 'Update', apiVersion: 'v1', fieldsV1: { 'k:nonsense': {} } }]], ['text']])('refuses managedFields %j', (managedFields) => {
    const next = thing({ a: 1 }, { managedFields: managedFields as never });
    expect(() => recordUpdate(thing({}), next, { manager: 'x', apiVersion: 'v1', now })).toThrow(/managedFields/);
  });
});

describe('fieldsV1', () => {
  it('survives the nested form', () => {
    const value = dictionary(constantFrom('a', 'b'), tuple(integer(), integer()).map(([x, y]) => ({ x, y })), { maxKeys: 2 });
    assert(
      property(value, array(constantFrom('Ready', 'Synced'), { maxLength: 2 }), (spec, types) => {
        const set = fieldsOf(thing(spec as JsonObject, { finalizers: types, labels: { 'a.b/c': 'd' } }));
        expect(fromFieldsV1(toFieldsV1(set))).toEqual(set);
      }),
    );
  });
});
