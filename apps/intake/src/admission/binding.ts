import { conflict, invalid, valueAt, type Kind, type KubeObject } from '@roundsman/api';
import { checkPreconditions } from './deletion.ts';
import { admitted, type Admitted, type AdmissionView, type WriteRequest } from './outcome.ts';
import { withCondition } from './pod-condition.ts';

/** Puts a pod on a node, once: whoever comes second gets a conflict. */
export function bind(kind: Kind, old: KubeObject, write: WriteRequest, view: AdmissionView): Admitted {
  const { name } = old.metadata;
  const { node } = write;
  if (node === undefined || node === '') throw invalid({ kind: 'Binding', group: '', plural: 'bindings' }, name, [{ field: 'target.name', reason: 'FieldValueRequired', message: 'Required value' }]);
  checkPreconditions(kind, old, write);
  const refused = (why: string): Error => conflict({ plural: 'pods/binding', group: '' }, name, why);
  if (old.metadata.deletionTimestamp !== undefined) throw refused(`pod ${name} is being deleted, cannot be assigned to a host`);
  const held = valueAt(old, 'spec', 'nodeName');
  if (typeof held === 'string' && held !== '') throw refused(`pod ${name} is already assigned to node ${JSON.stringify(held)}`);
  const gates = valueAt(old, 'spec', 'schedulingGates');
  if (Array.isArray(gates) && gates.length > 0) throw refused(`pod ${name} has non-empty .spec.schedulingGates`);
  const status = withCondition(old, { type: 'PodScheduled', status: 'True' }, view.now);
  return admitted(kind, 'MODIFIED', { ...old, metadata: { ...old.metadata }, spec: { ...(old.spec as object), nodeName: node }, status }, [], write);
}
