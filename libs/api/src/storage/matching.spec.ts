import { describe, expect, it } from '@jest/globals';
import type { Node } from '../kinds/node/schema.ts';
import type { PersistentVolume } from '../kinds/persistentvolume/schema.ts';
import type { PersistentVolumeClaim } from '../kinds/persistentvolumeclaim/schema.ts';
import { mismatch, volumeFor } from './matching.ts';

const volume = (name: string, storage: string, spec: Partial<PersistentVolume['spec']> = {}, labels = {}): PersistentVolume =>
  ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, labels }, spec: { capacity: { storage }, accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', ...spec }, status: { phase: 'Available' } }) as unknown as PersistentVolume;
const claim = (storage: string, spec: Partial<PersistentVolumeClaim['spec']> = {}): PersistentVolumeClaim =>
  ({ metadata: { namespace: 'default', name: 'c', uid: 'u' }, spec: { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', resources: { requests: { storage } }, ...spec } }) as unknown as PersistentVolumeClaim;
const node = (name: string): Node => ({ metadata: { name, labels: { 'kubernetes.io/hostname': name } } }) as unknown as Node;
const on = (name: string): PersistentVolume['spec']['nodeAffinity'] => ({ required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }] } });
const chosen = (...args: Parameters<typeof volumeFor>): string | undefined => volumeFor(...args)?.metadata.name;

describe('the volume for a claim', () => {
  it('is the smallest that fits, the first by name of equal ones', () => {
    expect(chosen(claim('1Gi'), [volume('large', '10Gi'), volume('small', '500Mi'), volume('b', '2Gi'), volume('a', '2048Mi')])).toBe('a');
    expect(chosen(claim('11Gi'), [volume('large', '10Gi')])).toBeUndefined();
  });

  it('is of the class, mode, access and labels that are asked for', () => {
    expect(chosen(claim('1Gi'), [volume('classy', '1Gi', { storageClassName: 'fast' })])).toBeUndefined();
    expect(chosen(claim('1Gi', { storageClassName: 'fast' }), [volume('classless', '1Gi'), volume('classy', '5Gi', { storageClassName: 'fast' })])).toBe('classy');
    expect(chosen(claim('1Gi', { accessModes: ['ReadWriteMany'] }), [volume('one', '1Gi'), volume('many', '5Gi', { accessModes: ['ReadWriteOnce', 'ReadWriteMany'] })])).toBe('many');
    expect(chosen(claim('1Gi', { volumeMode: 'Block' }), [volume('files', '1Gi')])).toBeUndefined();
    expect(chosen(claim('1Gi', { selector: { matchLabels: { disk: 'ssd' } } }), [volume('plain', '1Gi'), volume('ssd', '5Gi', {}, { disk: 'ssd' })])).toBe('ssd');
  });

  it('is the one that was set aside for it, and nobody else’s', () => {
    const mine = volume('mine', '50Gi', { claimRef: { namespace: 'default', name: 'c' } });
    const others = volume('others', '1Gi', { claimRef: { namespace: 'default', name: 'd' } });
    const formers = volume('formers', '1Gi', { claimRef: { namespace: 'default', name: 'c', uid: 'before' } });
    expect(chosen(claim('1Gi'), [volume('free', '1Gi'), others, formers, mine])).toBe('mine');
    expect(chosen(claim('1Gi'), [others, formers])).toBeUndefined();
    expect(chosen(claim('1Gi'), [volume('free', '1Gi')], { onlyReserved: true })).toBeUndefined();
  });

  it('is within reach of the node, where that is known', () => {
    const volumes = [volume('near', '2Gi', { nodeAffinity: on('n1') }), volume('far', '1Gi', { nodeAffinity: on('n2') })];
    expect([chosen(claim('1Gi'), volumes, { node: node('n1') }), chosen(claim('1Gi'), volumes, { node: node('n3') })]).toEqual(['near', undefined]);
  });

  it('fits always, is never one that was promised, and none smaller would do', () => {
    let seed = 7;
    const random = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n;
    for (let round = 0; round < 300; round++) {
      const volumes = Array.from({ length: 12 }, (_, i) => volume(`v${i}`, `${1 + random(8)}Gi`, random(3) === 0 ? { storageClassName: 'fast' } : {}));
      const wanted = claim(`${1 + random(8)}Gi`, random(2) === 0 ? { storageClassName: 'fast' } : {});
      const taken = new Set([`v${random(12)}`, `v${random(12)}`]);
      const best = volumeFor(wanted, volumes, { taken });
      const fitting = volumes.filter((one) => mismatch(one, wanted) === undefined && !taken.has(one.metadata.name));
      expect(best === undefined).toBe(fitting.length === 0);
      if (best === undefined) continue;
      expect(fitting).toContain(best);
      const size = (one: PersistentVolume): number => Number.parseInt(one.spec.capacity!['storage']!, 10);
      expect(Math.min(...fitting.map(size))).toBe(size(best));
    }
  });
});
