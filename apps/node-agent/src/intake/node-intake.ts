import type { Pod, PodStatus } from '@roundsman/api';
import { messages, ServiceError, type Bus } from '@roundsman/bus';
import { materialsOf, needsMaterials, noMaterials, type Materials } from '../environment/materials.ts';

/** The object is gone, or another one has its name. */
export class PodIsGone extends Error {
  override readonly name = 'PodIsGone';
}

/** What the agent of one node asks of intake. */
export interface NodeIntake {
  /** Stores the status; gives back the pod as it is then. Throws PodIsGone. */
  status(pod: Pod, status: PodStatus): Promise<Pod | undefined>;
  /** All of the pod has ended; also when it is gone already. */
  gone(pod: Pod): Promise<void>;
  event(event: Record<string, unknown>): Promise<void>;
  /** What the pod refers to and exists. */
  materials(pod: Pod): Promise<Materials>;
}

const isGone = (error: unknown): boolean => error instanceof ServiceError && error.code === 404;

export class BusIntake implements NodeIntake {
  readonly #bus: Bus;
  readonly #node: string;

  constructor(bus: Bus, node: string) {
    this.#bus = bus;
    this.#node = node;
  }

  async status(pod: Pod, status: PodStatus): Promise<Pod | undefined> {
    try {
      const { object } = await this.#bus.request(messages.nodeWrite, { node: this.#node }, { operation: 'podStatus', ...identityOf(pod), status: { ...status } });
      return object as unknown as Pod | undefined;
    } catch (error) {
      throw isGone(error) ? new PodIsGone((error as Error).message, { cause: error }) : error;
    }
  }

  async gone(pod: Pod): Promise<void> {
    await this.#bus.request(messages.nodeWrite, { node: this.#node }, { operation: 'podGone', ...identityOf(pod) }).catch((error: unknown) => {
      if (!isGone(error)) throw error;
    });
  }

  async event(event: Record<string, unknown>): Promise<void> {
    await this.#bus.request(messages.nodeWrite, { node: this.#node }, { operation: 'event', event });
  }

  async materials(pod: Pod): Promise<Materials> {
    if (!needsMaterials(pod)) return noMaterials;
    const ask = (after?: string) => this.#bus.request(messages.nodeMaterials, { node: this.#node }, { ...identityOf(pod), ...(after === undefined ? {} : { after }) });
    let { next, ...all } = await ask();
    while (next !== undefined) {
      const page = await ask(next);
      for (const part of ['configMaps', 'secrets', 'persistentVolumeClaims', 'persistentVolumes'] as const) all = { ...all, [part]: [...all[part], ...page[part]] };
      ({ next } = page);
    }
    return materialsOf(all);
  }
}

const identityOf = ({ metadata }: Pod): { namespace: string; name: string; uid: string } => ({ namespace: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid });
