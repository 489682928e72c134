import { ageColumn, column, nameColumn, textAt, valueAt } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import { storageAnnotations } from '../../storage/names.ts';

const short: Readonly<Record<string, string>> = { ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP' };
/** `RWO,ROX`: each once, in this order. */
export function accessModesText(modes: unknown): string {
  const given = Array.isArray(modes) ? modes : [];
  return Object.entries(short).flatMap(([mode, text]) => (given.includes(mode) ? [text] : [])).join(',');
}
export const phaseText = (object: KubeObject): string => (object.metadata.deletionTimestamp === undefined ? (textAt(object, 'status', 'phase') ?? '') : 'Terminating');
export const classText = (object: KubeObject): string => object.metadata.annotations?.[storageAnnotations.betaClass] ?? textAt(object, 'spec', 'storageClassName') ?? '';
export const classColumn = column('StorageClass', 'string', 'Class of storage', classText);
export const attributesColumn = column('VolumeAttributesClass', 'string', 'Class of attributes', (object) => textAt(object, 'spec', 'volumeAttributesClassName') ?? '<unset>');
export const modeColumn = column('VolumeMode', 'string', 'Filesystem or Block', (object) => textAt(object, 'spec', 'volumeMode') ?? '<unset>', { wide: true });

function claimText(object: KubeObject): string {
  const name = textAt(object, 'spec', 'claimRef', 'name');
  return name === undefined ? '' : `${textAt(object, 'spec', 'claimRef', 'namespace') ?? ''}/${name}`;
}

export const persistentVolumeColumns: readonly Column[] = [
  nameColumn,
  column('Capacity', 'string', 'How large it is', (object) => textAt(object, 'spec', 'capacity', 'storage') ?? '0'),
  column('Access Modes', 'string', 'How it can be used', (object) => accessModesText(valueAt(object, 'spec', 'accessModes'))),
  column('Reclaim Policy', 'string', 'What becomes of it when its claim is gone', (object) => textAt(object, 'spec', 'persistentVolumeReclaimPolicy') ?? ''),
  column('Status', 'string', 'Available, Bound, Released or Failed', phaseText),
  column('Claim', 'string', 'The claim that it is bound to', claimText),
  classColumn,
  attributesColumn,
  column('Reason', 'string', 'Why it failed', (object) => textAt(object, 'status', 'reason') ?? ''),
  ageColumn,
  modeColumn,
];
