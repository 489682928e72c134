import { expect, it } from '@jest/globals';
import { compilePolicy } from '@roundsman/api';
import { admit } from '../admission/admit.ts';
import { GroupCommit } from '../group-commit.ts';
import { State } from '../state.ts';
import { books } from '../testing/addresses.ts';

function cluster() {
  const state = new State({ head: 1, objects: [], lastOfResource: new Map() });
  const view = { admitted: state.admitted.bind(state), list: state.admittedList.bind(state), limits: { maxBodyBytes: 1, maxQpsPerRunner: 1, maxRequestsPerRound: 1 }, policy: compilePolicy(), now: 0, ...books(state) };
  const group = new GroupCommit(state, { admit: (write) => admit(write, view), commit: () => new Promise((resolve) => setImmediate(resolve)), committed: () => undefined, settled: () => undefined, failed: () => undefined });
  const send = (operation: 'create' | 'update', name: string, ...podCIDRs: string[]): Promise<string> =>
    group.submit({ operation, resource: 'nodes', namespace: undefined, name, fieldValidation: 'Strict', dryRun: false, object: { metadata: { name, labels: { operation } }, spec: { podCIDRs } } }).then(() => 'done', (error: Error) => error.message.replace(/^.* is invalid: /, ''));
  return send;
}

it('no two nodes get one pod CIDR, also when both are written at once', async () => {
  const send = cluster();
  expect(await Promise.all([send('create', 'a', '10.244.3.0/24'), send('create', 'b', '10.244.3.0/24')])).toEqual(['done', 'spec.podCIDRs[0]: Invalid value: "10.244.3.0/24": overlaps with 10.244.3.0/24 of node a']);
  expect(await Promise.all([send('create', 'c'), send('create', 'd')])).toEqual(['done', 'done']);
  expect((await Promise.all([send('update', 'c', '10.244.4.0/24'), send('update', 'd', '10.244.4.0/24')])).filter((text) => text === 'done')).toHaveLength(1);
});

it('a pod CIDR is a part of the cluster’s ranges as nodes have them', async () => {
  const send = cluster();
  expect(await send('create', 'a', '10.96.3.0/24')).toBe('spec.podCIDRs[0]: Invalid value: "10.96.3.0/24": is not in 10.244.0.0/16, as the parts of nodes are in this cluster');
  expect(await send('create', 'a', '10.244.3.0/25')).toBe('spec.podCIDRs[0]: Invalid value: "10.244.3.0/25": is no /24, as the parts of nodes are in this cluster');
  expect(await send('create', 'a', 'nonsense')).toContain('must be a valid CIDR value');
  expect([await send('create', 'a', '10.244.3.0/24'), await send('update', 'a', '10.244.3.0/24')]).toEqual(['done', 'done']);
  expect(await send('update', 'a', '10.96.3.0/24')).toBe('spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid');
});
