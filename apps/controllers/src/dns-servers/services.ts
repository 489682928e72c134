import type { Service } from '@roundsman/api';
import { resources, type Cluster, type Followed } from '@roundsman/cluster';
import type { Caches } from '../caches.ts';
import type { Services } from './find-servers.ts';

/** Where Services are looked for. */
export interface ServiceSource extends Services {
  /** Whether all there are have been seen; what is not found before that may be there. */
  readonly complete: boolean;
  /** Why they may not be current, in words. */
  problem(): string | undefined;
  onChange(listener: () => void): void;
  stop(): void;
}

/** Those of a Kubernetes API. */
export function servicesOf(cluster: Cluster): ServiceSource {
  const followed: Followed<Service> = cluster.follow<Service>(resources.services);
  let complete = false;
  const listeners: (() => void)[] = [];
  const tell = (): void => listeners.forEach((listener) => listener());
  followed.synced().then(
    () => {
      complete = true;
      tell();
    },
    // Stopped before they came.
    () => undefined,
  );
  followed.onChange(() => complete && tell());
  return {
    get complete() {
      return complete;
    },
    get: (namespace, name) => followed.get(namespace, name),
    list: (namespace) => followed.list().filter(({ metadata }) => metadata.namespace === namespace),
    problem: () => followed.problem(),
    onChange: (listener) => void listeners.push(listener),
    stop: () => followed.stop(),
  };
}

/** Those of the own store, where no Kubernetes API is named. */
export function storedServices({ services }: Caches): ServiceSource {
  const ends: (() => void)[] = [];
  return {
    complete: true,
    get: (namespace, name) => services.get(namespace, name),
    list: (namespace) => services.by('namespace', namespace),
    problem: () => services.problem(),
    onChange: (listener) => void ends.push(services.onChange(listener)),
    stop: () => ends.forEach((end) => end()),
  };
}
