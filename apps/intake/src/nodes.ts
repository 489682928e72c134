import type { KubeObject } from '@roundsman/api';
import { messages, type Bus, type Change } from '@roundsman/bus';
import type { Logger } from 'pino';
import { ownPod } from './admission/from-node.ts';
import { isToRemove, removerOf } from './admission/volume-removal.ts';
import { materialsOf, type Materials } from './materials.ts';
import { nameKey, pageOf } from './pages.ts';
import type { State } from './state.ts';

type PodRequest = { readonly namespace: string; readonly name: string; readonly uid: string; readonly after?: string | undefined };

const nodeOf = (pod: { readonly spec?: unknown }): string | undefined => (pod.spec as { nodeName?: string } | undefined)?.nodeName || undefined;

/** What the agents of nodes are told, and what they may ask: the pods bound to their node and what those refer to. */
export class Nodes {
  readonly #state: State;
  readonly #bus: Bus;
  readonly #log: Logger;
  /** Version of the last announcement to each node. */
  readonly #told = new Map<string, number>();
  /** What happened before this leader: older than anything an agent may still lack. */
  readonly #begun: number;

  constructor(state: State, bus: Bus, log: Logger) {
    this.#state = state;
    this.#bus = bus;
    this.#log = log;
    this.#begun = state.head;
  }

  /** Tells every committed change of a bound pod to its node. */
  committed(changes: readonly Change[]): void {
    for (const change of changes) {
      if (change.resource === 'persistentvolumes') this.#tellRemover(change);
      const node = change.resource === 'pods' ? nodeOf(change.object as { spec?: unknown }) : undefined;
      if (node === undefined) continue;
      const { type, version, object } = change;
      try {
        this.#bus.publish(messages.nodePod, { node }, { type, version, previousOfNode: this.#told.get(node) ?? 0, object });
      } catch (error) {
        // Of a node that cannot be a subject no agent can exist. The version counts all the same: who asks sees it.
        this.#log.error({ err: error, version, node }, 'a pod could not be announced to its node');
      }
      this.#told.set(node, version);
    }
  }

  #tellRemover({ type, name, object }: Change): void {
    const node = removerOf(object as unknown as KubeObject);
    if (type === 'DELETED' || node === undefined) return;
    try {
      this.#bus.publish(messages.nodeVolume, { node }, { name });
    } catch (error) {
      this.#log.error({ err: error, node, volume: name }, 'a volume that goes could not be announced to its node, which asks from time to time');
    }
  }

  pods(node: string, { seen, after }: { readonly seen?: number | undefined; readonly after?: string | undefined }): { version: number; pods?: KubeObject[]; next?: string } {
    const version = this.#told.get(node) ?? this.#begun;
    if (after === undefined && seen === version) return { version };
    const { items: pods, ...more } = pageOf(this.#state.list('pods').filter((pod) => nodeOf(pod) === node), nameKey, { after });
    return { version, pods, ...more };
  }

  materials(node: string, asked: PodRequest): Materials & { next?: string } {
    const state = this.#state;
    const pod = ownPod(node, asked, { admitted: (resource, namespace, name) => state.get(resource, namespace, name) });
    const found = materialsOf(pod, (resource, name) => state.get(resource, resource === 'persistentvolumes' ? undefined : asked.namespace, name));
    const all = Object.entries(found as unknown as Record<string, KubeObject[]>).flatMap(([part, objects]) => objects.map((object) => ({ part, object })));
    const { items, ...more } = pageOf(all, ({ part, object }) => `${part}/${object.metadata.name}`, asked);
    const only = (part: keyof Materials): KubeObject[] => items.filter((item) => item.part === part).map(({ object }) => object);
    return { configMaps: only('configMaps'), secrets: only('secrets'), persistentVolumeClaims: only('persistentVolumeClaims'), persistentVolumes: only('persistentVolumes'), ...more };
  }

  /** The volumes that go and whose directories the node is to remove. */
  volumes(node: string, asked: { readonly after?: string | undefined }): { volumes: KubeObject[]; next?: string } {
    const { items: volumes, ...more } = pageOf(this.#state.list('persistentvolumes').filter((volume) => isToRemove(volume, node)), nameKey, asked);
    return { volumes, ...more };
  }
}
