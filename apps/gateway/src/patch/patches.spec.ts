import { describe, expect, it } from '@jest/globals';
import { anything, array, assert, constantFrom, dictionary, integer, jsonValue, letrec, oneof, property, string, tuple, type Arbitrary } from 'fast-check';
import { jsonPatch } from './json.ts';
import type { Json, JsonObject } from './lists.ts';
import { mergePatch } from './merge.ts';
import { strategicMergePatch } from './strategic.ts';

const safeKey = string({ minLength: 1, maxLength: 4 }).filter((key) => key !== '__proto__');
const { node } = letrec((tie) => ({
  leaf: oneof(integer(), string({ maxLength: 3 }), array(integer(), { maxLength: 2 })),
  node: dictionary(safeKey, oneof({ depthSize: 'small' }, tie('leaf'), tie('node')), { maxKeys: 4 }),
}));
const object = node as Arbitrary<JsonObject>;

/** The merge patch that leads from one object to another: what a client such as kubectl computes. */
function difference(from: JsonObject, to: JsonObject): JsonObject {
  const patch: JsonObject = {};
  for (const key of Object.keys(from)) if (!(key in to)) patch[key] = null;
  for (const [key, value] of Object.entries(to)) {
    const old = Object.hasOwn(from, key) ? from[key] : undefined;
    const both = typeof value === 'object' && value !== null && !Array.isArray(value) && typeof old === 'object' && old !== null && !Array.isArray(old);
    patch[key] = both ? difference(old, value) : value;
  }
  return patch;
}

describe('mergePatch', () => {
  it.each<[Json, Json, Json]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [['a', 'b'], ['c', 'd'], ['c', 'd']],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j (RFC 7386)', (target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected);
  });

  it('a computed difference leads from any object to any other, and leaves the first alone', () => {
    assert(
      property(object, object, (from, to) => {
        const before = structuredClone(from);
        expect(mergePatch(from, difference(from, to))).toEqual(to);
        expect(from).toEqual(before);
      }),
    );
  });

  it('applied twice is the same as once', () => {
    assert(property(jsonValue() as Arbitrary<Json>, object, (target, patch) => expect(mergePatch(mergePatch(target, patch), patch)).toEqual(mergePatch(target, patch))));
  });
});

describe('jsonPatch', () => {
  const live = { metadata: { labels: { a: '1' } }, spec: { list: [1, 2, 3] } };

  it('applies every operation in order', () => {
    const patch = [
      { op: 'test', path: '/metadata/labels/a', value: '1' },
      { op: 'add', path: '/metadata/labels/b~1c', value: '2' },
      { op: 'move', from: '/spec/list/0', path: '/spec/list/2' },
      { op: 'copy', from: '/metadata/labels/a', path: '/spec/copied' },
      { op: 'replace', path: '/spec/list/0', value: 9 },
      { op: 'remove', path: '/metadata/labels/a' },
    ];
    expect(jsonPatch(structuredClone(live), patch)).toEqual({ metadata: { labels: { 'b/c': '2' } }, spec: { list: [9, 3, 1], copied: '1' } });
  });

  it.each<[string, unknown, number, RegExp]>([
    ['an object', { op: 'add' }, 400, /not a JSON patch/],
    ['an unknown operation', [{ op: 'jump', path: '/a' }], 400, /not a JSON patch.*\[0\]/],
    ['a path without a slash', [{ op: 'remove', path: 'spec' }], 400, /\[0\]\.path: must be a JSON pointer/],
    ['a move without from', [{ op: 'move', path: '/a' }], 400, /\[0\]\.from/],
    ['an add without a value', [{ op: 'add', path: '/a' }], 400, /\[0\]\.value/],
    ['a test that fails', [{ op: 'test', path: '/spec/list/0', value: 2 }], 422, /operation 0: the test does not hold/],
    ['a removal of what is not there', [{ op: 'remove', path: '/spec/nope' }], 422, /operation 0/],
    ['a place beyond a list', [{ op: 'add', path: '/spec/list/9', value: 1 }], 422, /operation 0/],
    ['a prototype', [{ op: 'add', path: '/__proto__/x', value: 1 }], 422, /does not fit/],
    ['the object replaced by a number', [{ op: 'replace', path: '', value: 1 }], 422, /not an object/],
    ['too many operations', Array.from({ length: 1001 }, () => ({ op: 'test', path: '/spec', value: 1 })), 400, /1000/],
  ])('refuses %s', (_what, patch, code, message) => {
    expect(() => jsonPatch(structuredClone(live), patch)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }) as unknown as Error);
  });

  it('never throws anything but a refusal, whatever the patch', () => {
    assert(
      property(anything(), (patch) => {
        try {
          jsonPatch(structuredClone(live), patch);
        } catch (error) {
          expect(error).toMatchObject({ name: 'ApiError' });
        }
      }),
    );
  });
});

describe('strategicMergePatch', () => {
  const pod = (): JsonObject => ({
    metadata: { finalizers: ['a', 'b'] },
    spec: {
      containers: [
        { name: 'one', image: 'x:1', ports: [{ containerPort: 80, name: 'http' }], env: [{ name: 'A', value: '1' }], args: ['a', 'b'] },
        { name: 'two', image: 'y:1' },
      ],
      tolerations: [{ key: 'k' }],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
  });
  const at = (object: JsonObject, ...path: (string | number)[]): unknown => path.reduce<unknown>((value, step) => (value as Record<string | number, unknown>)[step], object);

  it('merges keyed lists item by item and replaces the others', () => {
    const result = strategicMergePatch(pod(), {
      spec: { containers: [{ name: 'one', image: 'x:2', env: [{ name: 'B', value: '2' }], args: ['c'] }, { name: 'three' }], tolerations: [{ key: 'z' }] },
    });
    expect(at(result, 'spec', 'containers')).toEqual([
      { name: 'one', image: 'x:2', ports: [{ containerPort: 80, name: 'http' }], env: [{ name: 'B', value: '2' }, { name: 'A', value: '1' }], args: ['c'] },
      // What is added stands where the patch has it, before what the patch does not name.
      { name: 'three' },
      { name: 'two', image: 'y:1' },
    ]);
    expect(at(result, 'spec', 'tolerations')).toEqual([{ key: 'z' }]);
  });

  it('deletes items, scalars and members', () => {
    const result = strategicMergePatch(pod(), {
      metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] },
      spec: { containers: [{ $patch: 'delete', name: 'two' }], tolerations: null },
    });
    expect(at(result, 'metadata', 'finalizers')).toEqual(['b']);
    expect(at(result, 'spec', 'containers')).toHaveLength(1);
    expect(result['spec']).not.toHaveProperty('tolerations');
  });

  it('replaces where it is told to', () => {
    const result = strategicMergePatch(pod(), { spec: { containers: [{ $patch: 'replace' }, { name: 'only' }], volumes: [{ name: 'v', $retainKeys: ['name', 'configMap'], configMap: { name: 'c' } }] } });
    expect(at(result, 'spec', 'containers')).toEqual([{ name: 'only' }]);
    expect(at(result, 'spec', 'volumes')).toEqual([{ name: 'v', configMap: { name: 'c' } }]);
    expect(strategicMergePatch(pod(), { spec: { $patch: 'replace', a: 1 } })['spec']).toEqual({ a: 1 });
  });

  it('orders items as asked, ports of a container by containerPort, sets without repeats', () => {
    const result = strategicMergePatch(pod(), {
      metadata: { finalizers: ['b', 'c'], '$setElementOrder/finalizers': ['c', 'b', 'a'] },
      spec: { '$setElementOrder/containers': [{ name: 'two' }, { name: 'one' }], containers: [{ name: 'one', ports: [{ containerPort: 80, name: 'web' }, { containerPort: 81 }] }] },
    });
    expect(at(result, 'metadata', 'finalizers')).toEqual(['c', 'b', 'a']);
    expect(at(result, 'spec', 'containers', 1, 'ports')).toEqual([{ containerPort: 80, name: 'web' }, { containerPort: 81 }]);
    expect(at(result, 'spec', 'containers', 0, 'name')).toBe('two');
  });

  it.each([
    [{ spec: { containers: [{ image: 'x' }] } }, /an item of spec\.containers has no name/],
    [{ spec: { $patch: 'explode' } }, /must be delete, replace or merge/],
    [{ spec: { $surprise: 1 } }, /unknown directive \$surprise at spec/],
    [{ spec: { containers: ['x'] } }, /every item of spec\.containers must be an object/],
  ])('refuses %j', (patch, message) => {
    expect(() => strategicMergePatch(pod(), patch as JsonObject)).toThrow(message);
  });

  it('without lists and directives it is a merge patch', () => {
    const flat = dictionary(constantFrom('a', 'b', 'c'), oneof(integer(), string()), { maxKeys: 3 }) as Arbitrary<JsonObject>;
    assert(property(tuple(flat, flat), ([from, to]) => expect(strategicMergePatch({ x: from }, { x: difference(from, to) })).toEqual({ x: to })));
  });
});
