import { isDeepStrictEqual } from 'node:util';
import { defaultRuntime as place, runtimeFinalizer, type Runtime } from '@roundsman/api';
import { objectKey, onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import type { Settings } from '../../settings.ts';

/** The spec of the default Runtime but for its token. */
export function defaultSpecOf({ defaultRuntime, runtimeFamilies }: Pick<Settings, 'defaultRuntime' | 'runtimeFamilies'>): Runtime['spec'] {
  return defaultRuntime === 'process' ? { kind: 'Process', families: [], ingress: false } : { kind: 'DaemonSet', workload: place.workload, families: runtimeFamilies, ingress: true };
}

/** Keeps the Runtime that carries all tasks without agentSpec: it is always there. */
export function defaultRuntime({ caches, objects, cluster, settings }: Deps): LoopDefinition {
  const { namespace } = place;
  const { runtime: name } = settings;
  const key = `${namespace}/${name}`;
  return {
    name: 'default-runtime',
    concurrency: 1,
    keys: () => [key],
    wakes: [onChange(caches.runtimes, ({ object }) => (objectKey(object) === key ? [key] : []))],
    async reconcile() {
      const runtime = caches.runtimes.get(namespace, name);
      const wanted = defaultSpecOf(settings);
      if (runtime === undefined) {
        await objects.create(caches.runtimes, { apiVersion: 'roundsman.io/v1', kind: 'Runtime', metadata: { name, namespace, finalizers: [runtimeFinalizer] }, spec: wanted });
        return;
      }
      if (runtime.metadata.deletionTimestamp !== undefined) return;
      const { tokenHash, ...spec } = runtime.spec;
      // Nothing of the one is true of the other; where there is no API any more, what was made by it cannot be removed either.
      if (spec.kind !== wanted.kind && (spec.kind === 'Process' || cluster !== undefined)) {
        await objects.delete(caches.runtimes, runtime);
        return;
      }
      if (!isDeepStrictEqual(spec, wanted)) await objects.update(caches.runtimes, { ...runtime, spec: { ...wanted, ...(tokenHash === undefined ? {} : { tokenHash }) } });
    },
  };
}
