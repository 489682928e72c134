import { describe, expect, it } from '@jest/globals';
import type { NodeSelectorTerm } from '@roundsman/api';
import { info, nodeWith, said, type PodParts } from '../testing/objects.ts';
import { nodeAffinity } from './node-affinity.ts';

const nodes = [nodeWith('ssd', [], { labels: { disk: 'ssd', cores: '8' } }), nodeWith('hdd', [], { labels: { disk: 'hdd', cores: 'many' } }), nodeWith('bare', [], { labels: { cores: '-2' } })];
const fitting = (parts: PodParts): string[] => nodes.map(({ name }) => name).filter((_, index) => said(nodeAffinity, info('p', parts), nodes)[index] === 'ok');
const terms = (...nodeSelectorTerms: NodeSelectorTerm[]): PodParts => ({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
const expression = (key: string, operator: string, ...values: string[]): PodParts => terms({ matchExpressions: [{ key, operator, values }] });

describe('node affinity', () => {
  it('is told in the words of Kubernetes', () => {
    expect(said(nodeAffinity, info('p', { nodeSelector: { disk: 'tape' } }), [nodeWith('n')])).toEqual(["node(s) didn't match Pod's node affinity/selector"]);
  });

  it.each<[string, PodParts, string[]]>([
    ['nodeSelector', { nodeSelector: { disk: 'ssd' } }, ['ssd']],
    ['an empty nodeSelector', { nodeSelector: {} }, ['ssd', 'hdd', 'bare']],
    ['In', expression('disk', 'In', 'ssd', 'hdd'), ['ssd', 'hdd']],
    ['NotIn, also without the label', expression('disk', 'NotIn', 'ssd'), ['hdd', 'bare']],
    ['Exists', expression('disk', 'Exists'), ['ssd', 'hdd']],
    ['DoesNotExist', expression('disk', 'DoesNotExist'), ['bare']],
    ['Gt, numbers only', expression('cores', 'Gt', '4'), ['ssd']],
    ['Lt, below zero too', expression('cores', 'Lt', '0'), ['bare']],
    ['an operator nobody knows', expression('disk', 'Like', 's'), []],
    ['a name', terms({ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['hdd'] }] }), ['hdd']],
    ['not a name', terms({ matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['hdd'] }] }), ['ssd', 'bare']],
    ['one of several terms', terms({ matchExpressions: [{ key: 'disk', operator: 'In', values: ['hdd'] }] }, { matchExpressions: [{ key: 'disk', operator: 'DoesNotExist' }] }), ['hdd', 'bare']],
    ['all of one term', terms({ matchExpressions: [{ key: 'disk', operator: 'Exists' }], matchFields: [{ key: 'metadata.name', operator: 'NotIn', values: ['hdd'] }] }), ['ssd']],
    ['an empty term chooses nothing', terms({}), []],
    ['selector and affinity', { nodeSelector: { disk: 'ssd' }, ...expression('cores', 'Lt', '4') }, []],
  ])('%s', (_, parts, names) => {
    expect(fitting(parts)).toEqual(names);
  });
});
