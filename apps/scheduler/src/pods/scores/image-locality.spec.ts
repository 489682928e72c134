import { expect, it } from '@jest/globals';
import { info, nodeWith, scored, type NodeParts } from '../testing/objects.ts';
import { imageLocality } from './image-locality.ts';

const mebibyte = 1024 ** 2;
const has = (name: string, mebibytes: number): NodeParts => ({ images: [{ names: [name], sizeBytes: mebibytes * mebibyte }] });
const asked = info('p', { containers: [{ image: 'registry:5000/model' }] });

it('prefers nodes that have the images, by size, the more the more nodes have them', () => {
  const big = has('registry:5000/model:latest', 1000);
  const [one = 0, other] = scored(imageLocality, asked, [nodeWith('a', [], big), nodeWith('b')]) ?? [];
  expect([one, other]).toEqual([48, 0]);
  expect(scored(imageLocality, asked, [nodeWith('a', [], big), nodeWith('b', [], big)])).toEqual([100, 100]);
});

it('does not care for small images and those of others', () => {
  expect(scored(imageLocality, asked, [nodeWith('a', [], has('registry:5000/model:latest', 20)), nodeWith('b')])).toEqual([0, 0]);
  expect(scored(imageLocality, asked, [nodeWith('a', [], has('registry:5000/model:v2', 1000)), nodeWith('b')])).toBeUndefined();
});
