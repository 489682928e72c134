import { expect, it } from '@jest/globals';
import { info, nodeWith, said } from '../testing/objects.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';

it('refuses a cordoned node to all but pods that tolerate it', () => {
  const nodes = [nodeWith('a'), nodeWith('b', [], { unschedulable: true })];
  expect(said(nodeUnschedulable, info('p'), nodes)).toEqual(['ok', 'node(s) were unschedulable']);
  const patient = info('p', { tolerations: [{ key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' }] });
  expect(said(nodeUnschedulable, patient, nodes)).toEqual(['ok', 'ok']);
});
