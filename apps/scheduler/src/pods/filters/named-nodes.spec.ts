import { expect, it } from '@jest/globals';
import type { NodeSelectorTerm } from '@roundsman/api';
import { info, nodeWith, said } from '../testing/objects.ts';
import { namedNodesOnly } from './named-nodes.ts';

const named = (...names: string[]): NodeSelectorTerm => ({ matchFields: [{ key: 'metadata.name', operator: 'In', values: names }] });
const asking = (...nodeSelectorTerms: NodeSelectorTerm[]) => info('p', { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
const nodes = [nodeWith('a'), nodeWith('b'), nodeWith('c')];
const elsewhere = "node(s) didn't satisfy plugin(s) [NodeAffinity]";

it('tries a pod that names its nodes on no other', () => {
  expect(said(namedNodesOnly, asking(named('b')), nodes)).toEqual([elsewhere, 'ok', elsewhere]);
  expect(said(namedNodesOnly, asking(named('a'), named('c')), nodes)).toEqual(['ok', elsewhere, 'ok']);
});

it('leaves it to the affinity where a term names none', () => {
  expect(said(namedNodesOnly, asking(named('b'), { matchExpressions: [{ key: 'x', operator: 'Exists' }] }), nodes)).toEqual(['ok', 'ok', 'ok']);
  expect(said(namedNodesOnly, info('p'), nodes)).toEqual(['ok', 'ok', 'ok']);
});

it('knows names that exclude each other', () => {
  const conflict: NodeSelectorTerm = { matchFields: [...(named('a').matchFields ?? []), ...(named('b').matchFields ?? [])] };
  expect(new Set(said(namedNodesOnly, asking(conflict), nodes))).toEqual(new Set(['pod affinity terms conflict']));
});
