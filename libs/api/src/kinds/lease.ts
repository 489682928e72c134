import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { leaseRules } from '../rules/lease.ts';
import { message, text, time, whole } from './fields.ts';
import { objectOf } from './object.ts';

const specSchema = message('io.k8s.api.coordination.v1.LeaseSpec', 'Who holds the lease, and until when', {
  holderIdentity: text('Who holds it'),
  leaseDurationSeconds: whole('Seconds after renewTime when others may take it'),
  acquireTime: time('When it was taken, to the microsecond'),
  renewTime: time('When it was last renewed, to the microsecond'),
  leaseTransitions: whole('How often it changed hands'),
  strategy: text('How its next holder is chosen'),
  preferredHolder: text('Who should take it'),
});
export type LeaseSpec = z.infer<typeof specSchema>;
export interface Lease extends KubeObject<LeaseSpec> {}

export const lease: Kind = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  singular: 'lease',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: objectOf('coordination.k8s.io/v1', 'Lease', 'Something that one holds at a time', { spec: specSchema.prefault({}).describe('Who holds it, and until when') }),
  emptyIsAbsent: true,
  hasStatus: false,
  columns: [nameColumn, column('Holder', 'string', 'Who holds it', (object) => textAt(object, 'spec', 'holderIdentity') ?? ''), ageColumn],
  fieldSelectors: [],
  validate: leaseRules,
  generationOf: () => undefined,
};
