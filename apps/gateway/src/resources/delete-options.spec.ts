import { expect, it } from '@jest/globals';
import { readDeleteOptions, toDeletion } from './delete-options.ts';

it('delete options as intake is told them', () => {
  expect(toDeletion({})).toEqual({ dryRun: false });
  expect(toDeletion({ gracePeriodSeconds: 0, propagationPolicy: 'Foreground', dryRun: ['All'], preconditions: { uid: 'u' } })).toEqual({ dryRun: true, gracePeriodSeconds: 0, propagationPolicy: 'Foreground', preconditions: { uid: 'u' } });
  expect(toDeletion({ gracePeriodSeconds: -9 })).toMatchObject({ gracePeriodSeconds: 1 });
  expect(toDeletion({ orphanDependents: true })).toMatchObject({ propagationPolicy: 'Orphan' });
  expect(toDeletion({ orphanDependents: false })).toMatchObject({ propagationPolicy: 'Background' });
  expect(() => toDeletion({ orphanDependents: true, propagationPolicy: 'Orphan' })).toThrow('orphanDependents and deletionPropagation cannot be both set');
  expect(() => toDeletion({ dryRun: ['Some'] })).toThrow('Unsupported value: "Some"');
});

it('what is null is not set; what cannot be read is refused with its place', () => {
  expect(readDeleteOptions({ kind: 'DeleteOptions', gracePeriodSeconds: null, propagationPolicy: 'Background' })).toEqual({ kind: 'DeleteOptions', propagationPolicy: 'Background' });
  expect(() => readDeleteOptions({ gracePeriodSeconds: 'soon' })).toThrow('DeleteOptions cannot be read: gracePeriodSeconds');
  expect(() => readDeleteOptions([])).toThrow('DeleteOptions cannot be read: body');
});
