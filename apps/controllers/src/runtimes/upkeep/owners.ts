import type { AnyTask, KubeObject } from '@roundsman/api';
import type { Cluster } from '@roundsman/cluster';
import { controllerReference } from '../../owner.ts';

/** Where tasks are of this group, they may own what is made for them; elsewhere an owner of an unknown group would be taken for gone. */
const ownGroup = 'roundsman.io/v1';

/** Who owns what is made: the task its workload and Secret, the workload all others. */
export class Owners {
  readonly #cluster: Cluster;
  #served: Promise<boolean> | undefined;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async ofWorkload(task: AnyTask | undefined): Promise<object | undefined> {
    if (task === undefined) return undefined;
    this.#served ??= this.#cluster.serves(ownGroup).catch((error: unknown) => {
      this.#served = undefined;
      throw error;
    });
    return (await this.#served) ? controllerReference(task) : undefined;
  }

  ofOthers(workload: KubeObject): object {
    return { ...controllerReference(workload), blockOwnerDeletion: false };
  }
}
