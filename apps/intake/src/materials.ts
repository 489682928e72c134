import { valueAt, type KubeObject } from '@roundsman/api';

/** The objects whose content a pod needs on its node. */
export interface Materials {
  readonly configMaps: KubeObject[];
  readonly secrets: KubeObject[];
}

type Part = Record<string, unknown>;
const parts = (value: unknown): Part[] => (Array.isArray(value) ? (value as Part[]) : []);

/** The ConfigMaps and Secrets of its own namespace that a pod refers to and that exist: variables, volumes, credentials of registries. */
export function materialsOf(pod: KubeObject, get: (resource: 'configmaps' | 'secrets', name: string) => KubeObject | undefined): Materials {
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
  return { configMaps: found('configmaps'), secrets: found('secrets') };
}
