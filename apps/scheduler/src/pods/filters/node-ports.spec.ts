import { expect, it } from '@jest/globals';
import { info, nodeWith, said } from '../testing/objects.ts';
import { nodePorts } from './node-ports.ts';

const port = (hostPort: number, hostIP?: string, protocol: 'TCP' | 'UDP' = 'TCP') => ({ containerPort: 80, hostPort, protocol, ...(hostIP === undefined ? {} : { hostIP }) });
const verdict = (taken: ReturnType<typeof port>, asked: ReturnType<typeof port>): string => said(nodePorts, info('p', { ports: [asked] }), [nodeWith('n', [info('there', { ports: [taken] })])])[0] ?? '';
const full = "!node(s) didn't have free ports for the requested pod ports";

it.each([
  ['the same', port(80), port(80), full],
  ['another', port(80), port(81), 'ok'],
  ['another protocol', port(80), port(80, undefined, 'UDP'), 'ok'],
  ['another address', port(80, '10.0.0.1'), port(80, '10.0.0.2'), 'ok'],
  ['all addresses are there', port(80), port(80, '10.0.0.2'), full],
  ['all addresses are asked for', port(80, '10.0.0.1'), port(80, '0.0.0.0'), full],
])('a port of the node is had once: %s', (_, taken, asked, expected) => {
  expect(verdict(taken, asked)).toBe(expected);
});

it('is free again when the pod is gone, and of no interest to pods without', () => {
  const there = info('there', { ports: [port(80)] });
  const node = nodeWith('n', [there]);
  expect(said(nodePorts, info('p', { ports: [{ containerPort: 80, protocol: 'TCP' }] }), [node])).toEqual(['ok']);
  node.remove(there.uid);
  expect(said(nodePorts, info('p', { ports: [port(80)] }), [node])).toEqual(['ok']);
});
