import type { KubeObject, Pod, PodTemplateSpec } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import type { Tell } from '@roundsman/reconcile';
import type { Deps } from '../loop.ts';
import type { Draft } from '../objects.ts';
import { controllerReference } from '../owner.ts';

export interface PodDraft extends Draft {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly spec: Pod['spec'];
}

/** The pod that an owner makes from its template: its labels, annotations and finalizers, owned, with a name that the server makes. */
export function podFrom(owner: KubeObject, template: PodTemplateSpec): PodDraft {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      generateName: `${owner.metadata.name}-`,
      namespace: owner.metadata.namespace,
      labels: { ...labels },
      annotations: { ...annotations },
      ...(finalizers == null ? {} : { finalizers: [...finalizers] }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: template.spec,
  };
}

/** Makes and ends the pods of a workload, and tells of it in events of that workload. */
export class Pods {
  readonly #deps: Pick<Deps, 'caches' | 'objects'>;
  readonly #tell: Tell;

  /** `tell`: of the controller that does it. */
  constructor(deps: Pick<Deps, 'caches' | 'objects'>, tell: Tell) {
    this.#deps = deps;
    this.#tell = tell;
  }

  /** Throws when it is refused, after telling of it; of a name that is taken nothing is told: it may be this very pod. */
  async create(owner: KubeObject, draft: PodDraft): Promise<Pod> {
    const { objects, caches } = this.#deps;
    try {
      const pod = await objects.create(caches.pods, draft);
      this.#tell(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${pod.metadata.name}`);
      return pod;
    } catch (error) {
      if (!isNamespaceEnding(error) && !isNameTaken(error)) this.#tell(owner, 'Warning', 'FailedCreate', `Error creating: ${(error as Error).message}`);
      throw error;
    }
  }

  /** False when it was gone already. Throws when it is refused, after telling of it. */
  async delete(owner: KubeObject, pod: Pod): Promise<boolean> {
    const { objects, caches } = this.#deps;
    try {
      const asked = await objects.delete(caches.pods, pod);
      if (asked) this.#tell(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${pod.metadata.name}`);
      return asked;
    } catch (error) {
      this.#tell(owner, 'Warning', 'FailedDelete', `Error deleting: ${(error as Error).message}`);
      throw error;
    }
  }
}

export const isNameTaken = (error: unknown): boolean => error instanceof ServiceError && error.code === 409;
/** Nothing more can be made in a namespace that is being deleted: what is wanted there goes too. */
export const isNamespaceEnding = (error: unknown): boolean => error instanceof ServiceError && (error.code === 404 || (error.code === 403 && error.message.includes('being terminated')));
