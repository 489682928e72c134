import { forbidden, valueAt, type KubeObject } from '@roundsman/api';
import type { AdmissionView } from './outcome.ts';

const resource = 'priorityclasses.scheduling.k8s.io';

/** Only one class may be the default. */
export function onlyOneDefault(object: KubeObject, view: AdmissionView): void {
  if (valueAt(object, 'globalDefault') !== true) return;
  const other = view.list(resource).find((one) => one.metadata.name !== object.metadata.name && valueAt(one, 'globalDefault') === true);
  if (other !== undefined) throw forbidden({ plural: 'priorityclasses', group: 'scheduling.k8s.io' }, object.metadata.name ?? '', `PriorityClass ${other.metadata.name} is already marked as default. Only one default can exist`);
}
