import type { HorizontalPodAutoscaler, Pod } from '@roundsman/api';
import type { Caches } from '../../caches.ts';
import { NoScale, scaleTarget } from '../scale-target.ts';
import { SelectorIndex } from './selector-index.ts';

/** Which autoscalers choose the same pods. What has changed is read when it is next asked for, each once. */
export class Rivals {
  readonly #caches: Pick<Caches, 'all'>;
  readonly #byNamespace = new Map<string, SelectorIndex>();
  /** By uid. */
  readonly #changed = new Map<string, HorizontalPodAutoscaler>();

  constructor(caches: Pick<Caches, 'all'>) {
    this.#caches = caches;
  }

  /** It, or perhaps what it scales. */
  changed(autoscaler: HorizontalPodAutoscaler): void {
    this.#changed.set(autoscaler.metadata.uid, autoscaler);
  }

  gone({ metadata: { uid, namespace = '' } }: HorizontalPodAutoscaler): void {
    this.#changed.delete(uid);
    const index = this.#byNamespace.get(namespace);
    index?.remove(uid);
    if (index?.size === 0) this.#byNamespace.delete(namespace);
  }

  /** Names of all that choose one of these pods, which are those of `autoscaler`: its own among them. */
  choosing(autoscaler: HorizontalPodAutoscaler, pods: readonly Pod[]): string[] {
    if (pods.length === 0) return [];
    this.changed(autoscaler);
    for (const one of this.#changed.values()) this.#read(one);
    this.#changed.clear();
    return this.#byNamespace.get(autoscaler.metadata.namespace ?? '')?.choosing(pods.map(({ metadata }) => metadata.labels)) ?? [];
  }

  #read(autoscaler: HorizontalPodAutoscaler): void {
    const { uid, name, namespace = '' } = autoscaler.metadata;
    try {
      const { selector } = scaleTarget(autoscaler, this.#caches);
      const index = this.#byNamespace.get(namespace) ?? new SelectorIndex();
      index.put(uid, name, selector);
      this.#byNamespace.set(namespace, index);
    } catch (error) {
      if (!(error instanceof NoScale)) throw error;
      // It scales nothing.
      this.#byNamespace.get(namespace)?.remove(uid);
    }
  }
}
