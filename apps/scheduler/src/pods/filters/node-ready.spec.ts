import { expect, it } from '@jest/globals';
import type { NodeCondition } from '@roundsman/api';
import { info, nodeWith, said } from '../testing/objects.ts';
import { nodeReady } from './node-ready.ts';

const nodes = (['True', 'False', 'Unknown', undefined] as (NodeCondition['status'] | undefined)[]).map((status, index) => nodeWith(`n${index}`, [], { conditions: status === undefined ? [] : [{ type: 'Ready', status }] }));

it('refuses a node that is not ready, as its taint will', () => {
  expect(said(nodeReady, info('p'), nodes)).toEqual([
    'ok',
    'node(s) had untolerated taint {node.kubernetes.io/not-ready: }',
    'node(s) had untolerated taint {node.kubernetes.io/unreachable: }',
    'node(s) had untolerated taint {node.kubernetes.io/not-ready: }',
  ]);
});

it('lets pods in that tolerate it, not those that would only stay', () => {
  const everything = info('p', { tolerations: [{ operator: 'Exists' }] });
  expect(said(nodeReady, everything, nodes)).toEqual(['ok', 'ok', 'ok', 'ok']);
  const staying = info('p', { tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' }] });
  expect(said(nodeReady, staying, nodes)[1]).not.toBe('ok');
});
