import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ApiError } from '../errors.ts';
import { kindByResource, storedKinds } from '../registry.ts';
import { decode, type FieldValidation } from './decode.ts';
import { unknownFields, withoutUnknown } from './unknown-fields.ts';

const netReach = kindByResource.get('netreaches.roundsman.io')!;
const http = kindByResource.get('apphttphealthies.roundsman.io')!;
const secret = kindByResource.get('secrets')!;

function refusal(kind = netReach, body: Record<string, unknown> = {}, mode: FieldValidation = 'Strict'): ApiError {
  try {
    decode(kind, body, mode);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('unknown fields', () => {
  const body = { metadata: { name: 'x', colour: 'red' }, spec: { bogus: 1, target: { foo: 2 }, request: { qps: 3 } } };
  it('are refused when strict, all of them named by path', () => {
    const { code, message } = refusal(netReach, body);
    expect(code).toBe(400);
    expect(message).toBe('NetReach in version "v1" cannot be handled as a NetReach: strict decoding error: unknown field "metadata.colour", unknown field "spec.bogus", unknown field "spec.target.foo"');
  });
  it('are dropped with warnings when warned of', () => {
    const { object, warnings } = decode(netReach, body, 'Warn');
    expect(warnings).toEqual(['unknown field "metadata.colour"', 'unknown field "spec.bogus"', 'unknown field "spec.target.foo"']);
    expect(object.spec).not.toHaveProperty('bogus');
    expect(object.spec).toHaveProperty('request.qps', 3);
  });
  it('are dropped silently when ignored', () => {
    const { object, warnings } = decode(netReach, body, 'Ignore');
    expect(warnings).toEqual([]);
    expect(object.metadata).not.toHaveProperty('colour');
  });
  it('do not exist in free maps', () => {
    const free = { metadata: { labels: { anything: 'x' }, annotations: { 'a.b/c': 'y' } }, spec: { agentSpec: { annotation: { any: 'thing' }, resources: { limits: { any: 1 } } }, target: { host: 'h' } } };
    expect(unknownFields(http.schema, { apiVersion: 'roundsman.io/v1', kind: 'AppHttpHealthy', ...free })).toEqual([]);
  });
  it('are found in lists, maps and behind keys with odd characters', () => {
    expect(unknownFields(http.schema, { metadata: { ownerReferences: [{ name: 'a' }, { nam: 'b' }] } })).toEqual(['metadata.ownerReferences[1].nam']);
    expect(unknownFields(http.schema, { spec: { 'a/b': 1 } })).toEqual(['spec[a/b]']);
  });
});

describe('what a schema refuses', () => {
  it.each([
    [{ request: { qps: 0 } }, 'spec.request.qps', 'FieldValueInvalid', 'Invalid value: 0: must be greater than or equal to 1'],
    [{ request: { qps: -3 } }, 'spec.request.qps', 'FieldValueInvalid', 'Invalid value: -3: must be greater than or equal to 1'],
    [{ request: { qps: 1.5 } }, 'spec.request.qps', 'FieldValueTypeInvalid', 'Invalid value: 1.5: must be of type integer'],
    [{ request: { durationInSecond: 'ten' } }, 'spec.request.durationInSecond', 'FieldValueTypeInvalid', 'Invalid value: "ten": must be of type number'],
    [{ request: { perRequestTimeoutInMS: 0 } }, 'spec.request.perRequestTimeoutInMS', 'FieldValueInvalid', 'Invalid value: 0: must be greater than or equal to 1'],
    [{ expect: { successRate: 1.1 } }, 'spec.expect.successRate', 'FieldValueInvalid', 'Invalid value: 1.1: must be less than or equal to 1'],
    [{ expect: { successRate: -0.1 } }, 'spec.expect.successRate', 'FieldValueInvalid', 'Invalid value: -0.1: must be greater than or equal to 0'],
    [{ schedule: { roundNumber: -2 } }, 'spec.schedule.roundNumber', 'FieldValueInvalid', 'Invalid value: -2: must be greater than or equal to -1'],
    [{ schedule: { roundTimeoutMinute: 0 } }, 'spec.schedule.roundTimeoutMinute', 'FieldValueInvalid', 'Invalid value: 0: must be greater than or equal to 1'],
    [{ target: [] }, 'spec.target', 'FieldValueTypeInvalid', 'Invalid value: []: must be of type object'],
    [{ target: { endpoint: 'yes' } }, 'spec.target.endpoint', 'FieldValueTypeInvalid', 'Invalid value: "yes": must be of type boolean'],
    [{ suspend: null }, 'spec.suspend', 'FieldValueTypeInvalid', 'Invalid value: null: must be of type boolean'],
  ])('%j', (spec, field, reason, message) => {
    const error = refusal(netReach, { metadata: { name: 'x' }, spec });
    expect(error.status).toMatchObject({ code: 422, reason: 'Invalid', details: { name: 'x', group: 'roundsman.io', kind: 'NetReach', causes: [{ field, reason, message }] } });
    expect(error.message).toBe(`NetReach.roundsman.io "x" is invalid: ${field}: ${message}`);
  });
  it('names what is required and what is supported', () => {
    expect(refusal(http, { metadata: { name: 'x' }, spec: {} }).status.details?.causes).toEqual([{ field: 'spec.target', reason: 'FieldValueRequired', message: 'Required value' }]);
    expect(refusal(http, { metadata: { name: 'x' }, spec: { target: { host: 'h', method: 'BREW' } } }).message).toContain('spec.target.method: Unsupported value: "BREW": supported values: "GET", "POST"');
    expect(refusal(http, { metadata: { name: 'x' }, spec: { target: { host: 'h' }, expect: { statusCode: 99 } } }).message).toContain('must be greater than or equal to 100');
  });
  it('lists all causes of one body', () => {
    const { message, status } = refusal(netReach, { metadata: { name: 'x' }, spec: { request: { qps: 0, durationInSecond: 0 } } });
    expect(status.details?.causes).toHaveLength(2);
    expect(message).toMatch(/is invalid: \[.*, .*\]$/);
  });
  it('refuses another kind or version with a 400', () => {
    expect(refusal(netReach, { apiVersion: 'roundsman.io/v2' })).toMatchObject({ code: 400, message: 'the API version in the data (roundsman.io/v2) does not match the expected API version (roundsman.io/v1)' });
    expect(refusal(netReach, { kind: 'Pod' })).toMatchObject({ code: 400, message: 'the kind in the data (Pod) does not match the expected kind (NetReach)' });
  });
  it('never repeats what a secret holds', () => {
    for (const data of [{ password: 'hunter2!' }, { password: 424242 }, 'hunter2!']) {
      const { message } = refusal(secret, { metadata: { name: 'x' }, data });
      expect(message).not.toMatch(/hunter2|424242/);
      expect(message).toContain('data');
    }
    expect(refusal(secret, { metadata: { name: 'x' }, stringData: { pin: 424242 } }).message).not.toContain('424242');
  });
});

describe('defaults', () => {
  it('make a whole task of an empty one', () => {
    expect(decode(netReach, { metadata: { name: 'x' } }, 'Strict').object.spec).toEqual({
      suspend: false,
      schedule: { roundNumber: 1 },
      request: { durationInSecond: 2, qps: 5, perRequestTimeoutInMS: 500 },
      expect: { successRate: 1, meanAccessDelayInMs: 5000 },
      target: { ipv4: true, ipv6: false, endpoint: true, multusInterface: false, clusterIP: false, nodePort: false, loadBalancer: false, ingress: false, enableLatencyMetric: true },
    });
  });
  it('drop the nulls that clients send for "not set"', () => {
    const { object } = decode(netReach, { metadata: { name: 'x', creationTimestamp: null, labels: null } }, 'Strict');
    expect(object.metadata).toEqual({ name: 'x' });
  });
  it('change nothing when applied to their own result', () => {
    const once = decode(http, { metadata: { name: 'x' }, spec: { target: { host: 'h', header: ['A: b'] } } }, 'Strict').object;
    expect(decode(http, once as unknown as Record<string, unknown>, 'Strict').object).toEqual(once);
  });
});

it('answers any JSON with an object or an ApiError, never with another error', () => {
  fc.assert(
    fc.property(fc.constantFrom(...storedKinds), fc.dictionary(fc.constantFrom('metadata', 'spec', 'status', 'data', 'kind', 'x'), fc.jsonValue()), (kind, body) => {
      try {
        decode(kind, body as Record<string, unknown>, 'Strict');
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError);
      }
    }),
    { numRuns: 500 },
  );
});

it('unknown members are left out of a copy, wherever they stand', () => {
  const body = { kind: 'NetReach', bogus: 1, metadata: { name: 'a', also: {} }, spec: { request: { qps: 1, x: [] } } };
  const before = JSON.stringify(body);
  expect(withoutUnknown(netReach.schema, body)).toEqual({ kind: 'NetReach', metadata: { name: 'a' }, spec: { request: { qps: 1 } } });
  expect(JSON.stringify(body)).toBe(before);
  const known = { kind: 'NetReach', metadata: { name: 'a' }, spec: {} };
  expect(withoutUnknown(netReach.schema, known)).toBe(known);
});
