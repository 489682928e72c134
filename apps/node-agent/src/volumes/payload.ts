import type { DownwardAPIVolumeFile, KeyToPath, Pod, Volume, VolumeProjection } from '@roundsman/api';
import type { Materials } from '../environment/materials.ts';
import { podField, resourceField, type PodFacts } from '../environment/pod-fields.ts';
import { VolumeProblem } from './volume-problem.ts';

export interface PayloadFile {
  readonly bytes: Buffer;
  readonly mode: number;
}
/** Files of a volume by their path in it. */
export type Payload = ReadonlyMap<string, PayloadFile>;

interface Source {
  readonly name?: string;
  readonly items?: readonly KeyToPath[];
  readonly optional?: boolean;
}

const defaultMode = 0o644;

/** The files of a volume that shows ConfigMaps, Secrets or fields of the pod; undefined for any other volume. Throws VolumeProblem. */
export function payloadOf(pod: Pod, volume: Volume, materials: Materials, facts: PodFacts): Payload | undefined {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap !== undefined) return collect(pod, volume.name, [{ configMap }], configMap.defaultMode, materials, facts);
  if (secret !== undefined) {
    const { secretName, items, optional } = secret;
    return collect(pod, volume.name, [{ secret: { name: secretName, items, optional } }], secret.defaultMode, materials, facts);
  }
  if (downwardAPI !== undefined) return collect(pod, volume.name, [{ downwardAPI }], downwardAPI.defaultMode, materials, facts);
  if (projected !== undefined) return collect(pod, volume.name, projected.sources ?? [], projected.defaultMode, materials, facts);
  return undefined;
}

function collect(pod: Pod, volume: string, sources: readonly VolumeProjection[], mode: number = defaultMode, materials: Materials, facts: PodFacts): Payload {
  const files = new Map<string, PayloadFile>();
  const put = (path: string, bytes: Buffer, own: number | undefined): void => {
    if (path === '' || path.startsWith('/') || path.startsWith('..') || path.split('/').some((part) => part === '..' || part === '')) throw new VolumeProblem(volume, `invalid path: ${JSON.stringify(path)} must be a relative path without ".."`);
    files.set(path, { bytes, mode: own ?? mode });
  };
  for (const source of sources) {
    const { configMap, secret, downwardAPI } = source;
    if (configMap !== undefined) putKeys(volume, 'configmap', configMap, materials.configMaps, put);
    else if (secret !== undefined) putKeys(volume, 'secret', secret, materials.secrets, put);
    else if (downwardAPI !== undefined) for (const item of downwardAPI.items ?? []) put(item.path, Buffer.from(fieldOf(pod, volume, item, facts)), item.mode);
    else throw new VolumeProblem(volume, `${Object.keys(source)[0] ?? 'a source without a kind'} cannot be projected on this node`);
  }
  return files;
}

function putKeys(
  volume: string,
  kind: 'configmap' | 'secret',
  { name = '', items, optional = false }: Source,
  objects: ReadonlyMap<string, ReadonlyMap<string, Buffer>>,
  put: (path: string, bytes: Buffer, mode: number | undefined) => void,
): void {
  const data = objects.get(name);
  if (data === undefined) {
    if (optional) return;
    throw new VolumeProblem(volume, `${kind} "${name}" not found`);
  }
  if (items === undefined || items.length === 0) {
    for (const [key, bytes] of data) put(key, bytes, undefined);
    return;
  }
  for (const { key, path, mode } of items) {
    const bytes = data.get(key);
    if (bytes !== undefined) put(path, bytes, mode);
    else if (!optional) throw new VolumeProblem(volume, kind === 'configmap' ? `configmap references non-existent config key: ${key}` : `references non-existent secret key: ${key}`);
  }
}

function fieldOf(pod: Pod, volume: string, { fieldRef, resourceFieldRef }: DownwardAPIVolumeFile, facts: PodFacts): string {
  try {
    if (fieldRef !== undefined) return podField(pod, fieldRef.fieldPath, facts);
    return resourceFieldRef === undefined ? '' : resourceField(pod, resourceFieldRef, undefined, facts);
  } catch (error) {
    throw new VolumeProblem(volume, (error as Error).message, { cause: error });
  }
}
