import { expect, it } from '@jest/globals';
import { info, nodeWith, said } from '../testing/objects.ts';
import { volumeBinding } from './volume-binding.ts';

it('a pod waits while a claim of it is missing, whatever the node', () => {
  const nodes = [nodeWith('a'), nodeWith('b')];
  const missing = 'persistentvolumeclaim "p" not found';
  expect(said(volumeBinding, info('x', { volumes: [{ name: 'e', emptyDir: {} }, { name: 'v', persistentVolumeClaim: { claimName: 'p' } }] }), nodes)).toEqual([missing, missing]);
  expect(said(volumeBinding, info('x', { volumes: [{ name: 'v', ephemeral: {} }] }), nodes)[0]).toBe('waiting for ephemeral volume controller to create the persistentvolumeclaim "x-v"');
  expect(said(volumeBinding, info('x', { volumes: [{ name: 'e', emptyDir: {} }] }), nodes)).toEqual(['ok', 'ok']);
});
