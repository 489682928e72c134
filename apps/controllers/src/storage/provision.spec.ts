import { describe, expect, it } from '@jest/globals';
import { volumesFolderAnnotation, type Node, type PersistentVolume } from '@roundsman/api';
import { removalProblem } from './provision.ts';

describe('the removal of a directory', () => {
  const node = (folder: string | undefined) => ({ metadata: { name: 'n1', annotations: folder === undefined ? {} : { [volumesFolderAnnotation]: folder } } }) as unknown as Node;
  const volume = (spec: object) => ({ metadata: { name: 'pvc-1' }, spec }) as unknown as PersistentVolume;

  it('is the business of the agent that keeps its volumes there still; else it is said why it waits', () => {
    const here = volume({ hostPath: { path: '/volumes/pvc-1' } });
    expect([removalProblem(here, node('/volumes')), removalProblem(volume({ nfs: { server: 's', path: '/exports/pvc-1' } }), node('/volumes'))]).toEqual([undefined, undefined]);
    expect(removalProblem(here, node('/mnt'))).toMatch(/^the agent of node "n1" keeps its volumes in \/mnt now, and removes nothing elsewhere: \/volumes\/pvc-1 stays until/);
    expect(removalProblem(here, node(undefined))).toContain('keeps no volumes now');
  });
});
