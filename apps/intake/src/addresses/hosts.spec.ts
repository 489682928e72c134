import { expect, it } from '@jest/globals';
import { compilePolicy } from '@roundsman/api';
import { admit } from '../admission/admit.ts';
import type { WriteRequest } from '../admission/outcome.ts';
import { GroupCommit } from '../group-commit.ts';
import { State } from '../state.ts';
import { books } from '../testing/addresses.ts';

const namespace = (name: string) => ({ resource: 'namespaces', namespace: '', name, object: { apiVersion: 'v1', kind: 'Namespace', metadata: { name, uid: name, resourceVersion: '1', generation: 1, creationTimestamp: 't' }, spec: {} } });

it('a host belongs to one object, also when two ask for it at once, until that gives it up', async () => {
  const state = new State({ head: 1, objects: [namespace('a'), namespace('b')], lastOfResource: new Map() });
  const view = { admitted: state.admitted.bind(state), list: state.admittedList.bind(state), limits: { maxBodyBytes: 1, maxQpsPerRunner: 1, maxRequestsPerRound: 1 }, policy: compilePolicy(), now: 0, ...books(state) };
  const group = new GroupCommit(state, { admit: (write) => admit(write, view), commit: () => new Promise((resolve) => setImmediate(resolve)), committed: () => undefined, settled: () => undefined, failed: () => undefined });
  const send = (at: string, operation: WriteRequest['operation'], host = ''): Promise<string> => {
    const object = { metadata: { name: 'x' }, spec: { host, paths: [{ path: '/', service: { name: 'web', port: 80 } }] } };
    return group.submit({ operation, resource: 'dnses.roundsman.io', namespace: at, name: 'x', fieldValidation: 'Strict', dryRun: false, ...(operation !== 'delete' && { object }) }).then(() => 'done', (error: Error) => error.message);
  };
  const taken = 'DNS.roundsman.io "x" is invalid: spec.host: Duplicate value: "shop.example": the host belongs to DNS a/x';
  expect(await Promise.all([send('a', 'create', 'shop.example'), send('b', 'create', 'shop.example')])).toEqual(['done', taken]);
  expect(await send('b', 'create', 'mail.example')).toBe('done');
  expect(await send('b', 'update', 'shop.example')).toBe(taken);
  expect(await send('a', 'update', 'shop.example')).toBe('done');
  expect([await send('a', 'update', 'other.example'), await send('b', 'update', 'shop.example')]).toEqual(['done', 'done']);
  expect([await send('b', 'delete'), await send('a', 'update', 'shop.example')]).toEqual(['done', 'done']);
  expect(await send('b', 'create', 'web.default.svc.cluster.local')).toContain('spec.host: Forbidden: names below cluster.local are those of Services and pods');
});
