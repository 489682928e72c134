import { expect, it } from '@jest/globals';
import { info, nodeWith, said } from '../testing/objects.ts';
import { nodeName } from './node-name.ts';

it('leaves only the node that is asked for by name', () => {
  const nodes = [nodeWith('a'), nodeWith('b')];
  expect(said(nodeName, info('p', { nodeName: 'b' }), nodes)).toEqual(["node(s) didn't match the requested node name", 'ok']);
  expect(said(nodeName, info('p'), nodes)).toEqual(['ok', 'ok']);
});
