import { describe, expect, it } from '@jest/globals';
import type { Taint, Toleration } from '@roundsman/api';
import { info, nodeWith, said } from '../testing/objects.ts';
import { taintToleration } from './taint-toleration.ts';

const verdict = (taints: Taint[], tolerations: Toleration[] = []): string | undefined => said(taintToleration, info('p', { tolerations }), [nodeWith('n', [], { taints })])[0];
const gpu: Taint = { key: 'gpu', value: 'a100', effect: 'NoSchedule' };

describe('taints', () => {
  it('keep pods away that do not tolerate them, the first one is told', () => {
    expect(verdict([gpu])).toBe('node(s) had untolerated taint {gpu: a100}');
    expect(verdict([{ key: 'gone', effect: 'NoExecute' }, gpu])).toBe('node(s) had untolerated taint {gone: }');
    expect(verdict([{ key: 'rather-not', effect: 'PreferNoSchedule' }])).toBe('ok');
  });

  it.each<[string, Toleration, boolean]>([
    ['same value', { key: 'gpu', operator: 'Equal', value: 'a100', effect: 'NoSchedule' }, true],
    ['no operator is Equal', { key: 'gpu', value: 'a100' }, true],
    ['other value', { key: 'gpu', operator: 'Equal', value: 'h100' }, false],
    ['any value', { key: 'gpu', operator: 'Exists' }, true],
    ['other effect', { key: 'gpu', operator: 'Exists', effect: 'NoExecute' }, false],
    ['any key', { operator: 'Exists' }, true],
    ['any key, other effect', { operator: 'Exists', effect: 'PreferNoSchedule' }, false],
  ])('are tolerated or not: %s', (_, toleration, tolerated) => {
    expect(verdict([gpu], [toleration])).toBe(tolerated ? 'ok' : 'node(s) had untolerated taint {gpu: a100}');
  });
});
