import { expect, it } from '@jest/globals';
import { compareNames } from './names.ts';

it('compares names as people read them', () => {
  expect(['node-10', 'node-2', 'node-1', 'app-3'].sort(compareNames)).toEqual(['app-3', 'node-1', 'node-2', 'node-10']);
});
