import { claimsOf, valueAt, type KubeObject, type Pod } from '@roundsman/api';

/** The objects whose content a pod needs on its node. */
export interface Materials {
  readonly configMaps: KubeObject[];
  readonly secrets: KubeObject[];
  readonly persistentVolumeClaims: KubeObject[];
  readonly persistentVolumes: KubeObject[];
}

/** What of its own namespace a pod may refer to. */
type Own = 'configmaps' | 'secrets' | 'persistentvolumeclaims';
/** A volume, by its name, and other objects by theirs. */
type Get = (resource: Own | 'persistentvolumes', name: string) => KubeObject | undefined;

type Part = Record<string, unknown>;
const parts = (value: unknown): Part[] => (Array.isArray(value) ? (value as Part[]) : []);

/**
 * What a pod refers to and exists: ConfigMaps and Secrets of its own namespace (variables, volumes, credentials of registries), claims, and the
 * volumes that are bound to these.
 */
export function materialsOf(pod: KubeObject, get: Get): Materials {
  const names = { configmaps: new Set<string>(), secrets: new Set<string>() };
  const refer = (resource: 'configmaps' | 'secrets', name: unknown): void => {
    if (typeof name === 'string' && name !== '') names[resource].add(name);
  };
  const spec = pod.spec as Part;
  for (const container of ['initContainers', 'containers', 'ephemeralContainers'].flatMap((member) => parts(spec[member]))) {
    for (const source of parts(container['envFrom'])) {
      refer('configmaps', valueAt(source, 'configMapRef', 'name'));
      refer('secrets', valueAt(source, 'secretRef', 'name'));
    }
    for (const variable of parts(container['env'])) {
      refer('configmaps', valueAt(variable, 'valueFrom', 'configMapKeyRef', 'name'));
      refer('secrets', valueAt(variable, 'valueFrom', 'secretKeyRef', 'name'));
    }
  }
  for (const volume of parts(spec['volumes'])) {
    refer('configmaps', valueAt(volume, 'configMap', 'name'));
    refer('secrets', valueAt(volume, 'secret', 'secretName'));
    for (const source of parts(valueAt(volume, 'projected', 'sources'))) {
      refer('configmaps', valueAt(source, 'configMap', 'name'));
      refer('secrets', valueAt(source, 'secret', 'name'));
    }
  }
  for (const secret of parts(spec['imagePullSecrets'])) refer('secrets', secret['name']);
  const found = (resource: 'configmaps' | 'secrets'): KubeObject[] => [...names[resource]].flatMap((name) => get(resource, name) ?? []);
  const persistentVolumeClaims = claimsOf(pod as Pod).flatMap((name) => get('persistentvolumeclaims', name) ?? []);
  const persistentVolumes = persistentVolumeClaims.flatMap((claim) => volumeOf(claim, get) ?? []);
  return { configMaps: found('configmaps'), secrets: found('secrets'), persistentVolumeClaims, persistentVolumes };
}

/** Only when it is this very claim's: others are none of the pod's business. */
function volumeOf(claim: KubeObject, get: Get): KubeObject | undefined {
  const name = valueAt(claim, 'spec', 'volumeName');
  const volume = typeof name === 'string' && name !== '' ? get('persistentvolumes', name) : undefined;
  return valueAt(volume, 'spec', 'claimRef', 'uid') === claim.metadata.uid ? volume : undefined;
}
