import { isBoundClaim, storageAnnotations, type PersistentVolumeClaim } from '@roundsman/api';
import { messages, serviceUser, type Bus } from '@roundsman/bus';
import type { PodCaches } from '../caches.ts';
import type { PodInfo } from '../cluster/pod-info.ts';
import { podClaims } from '../rules/storage.ts';

/** Claims that are not bound after so long are decided on anew, with their pod. */
const patienceMs = 60_000;
const writeTimeoutMs = 3_000;

/** The claims of a pod did not get their volumes on the node that was chosen. */
export class ClaimsNotBound extends Error {
  override readonly name = 'ClaimsNotBound';
}

/** Has the claims of a pod bound before the pod is: says on which node they are wanted, and waits until `controllers` have given them their volumes there. */
export class ClaimBinding {
  readonly #bus: Bus;
  readonly #caches: Pick<PodCaches, 'claims' | 'storage'>;
  readonly #patienceMs: number;
  readonly #waiting = new Set<(problem: Error) => void>();
  #stopped = false;

  constructor(bus: Bus, caches: Pick<PodCaches, 'claims' | 'storage'>, waitMs = patienceMs) {
    this.#bus = bus;
    this.#caches = caches;
    this.#patienceMs = waitMs;
  }

  /** Whoever waits is told that it was in vain. */
  stop(): void {
    this.#stopped = true;
    for (const reject of this.#waiting) reject(new ClaimsNotBound('this scheduler does not lead any more'));
  }

  /** Throws ClaimsNotBound, or what the bus says of a write. */
  async bind({ pod, namespace }: PodInfo, node: string): Promise<void> {
    const claims = podClaims(pod, this.#caches.storage);
    if (claims.problem !== undefined) throw new ClaimsNotBound(claims.problem);
    if (claims.delayed.length === 0) return;
    for (const claim of claims.delayed) await this.#select(claim, node);
    await this.#bound(namespace, claims.delayed, node);
  }

  async #select(claim: PersistentVolumeClaim, node: string): Promise<void> {
    const { annotations = {}, namespace = '', name } = claim.metadata;
    if (annotations[storageAnnotations.selectedNode] === node) return;
    const chosen = { ...claim, metadata: { ...claim.metadata, annotations: { ...annotations, [storageAnnotations.selectedNode]: node } } };
    const write = { operation: 'update', resource: 'persistentvolumeclaims', namespace, name, object: chosen as unknown as Record<string, unknown>, user: serviceUser('scheduler') } as const;
    const { object } = await this.#bus.request(messages.write, {}, write, { timeoutMs: writeTimeoutMs });
    this.#caches.claims.observe(object as unknown as PersistentVolumeClaim);
  }

  /** Listens before it looks: what happens in between is not missed. */
  async #bound(namespace: string, wanted: readonly PersistentVolumeClaim[], node: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = (): void => {
      let open = false;
      for (const { metadata } of wanted) {
        const claim = this.#caches.claims.get(namespace, metadata.name);
        if (claim === undefined || claim.metadata.uid !== metadata.uid || claim.metadata.deletionTimestamp !== undefined) return reject(new ClaimsNotBound(`persistentvolumeclaim ${JSON.stringify(metadata.name)} not found`));
        if (isBoundClaim(claim)) continue;
        open = true;
        if (claim.metadata.annotations?.[storageAnnotations.selectedNode] !== node) return reject(new ClaimsNotBound(`no volume could be had on node ${JSON.stringify(node)} for persistentvolumeclaim ${JSON.stringify(metadata.name)}; its events say why`));
      }
      if (!open) resolve();
    };
    const off = this.#caches.claims.onChange(look);
    const timer = setTimeout(() => reject(new ClaimsNotBound('timed out waiting for the condition')), this.#patienceMs);
    this.#waiting.add(reject);
    if (this.#stopped) this.stop();
    look();
    await promise.finally(() => {
      off();
      clearTimeout(timer);
      this.#waiting.delete(reject);
    });
  }
}
