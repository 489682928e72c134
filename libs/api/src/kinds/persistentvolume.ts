import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { persistentVolumeRules } from '../rules/storage/persistent-volume.ts';
import { persistentVolumeColumns } from './persistentvolume/columns.ts';
import { persistentVolumeSchema, type PersistentVolume } from './persistentvolume/schema.ts';

export const persistentVolume: Kind = {
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  singular: 'persistentvolume',
  shortNames: ['pv'],
  categories: [],
  namespaced: false,
  schema: persistentVolumeSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: persistentVolumeColumns,
  fieldSelectors: [],
  validate: persistentVolumeRules,
  generationOf: () => undefined,
};

function complete(object: KubeObject): void {
  const { claimRef } = (object as PersistentVolume).spec;
  if (claimRef === undefined) return;
  claimRef.apiVersion ??= 'v1';
  claimRef.kind ??= 'PersistentVolumeClaim';
}
