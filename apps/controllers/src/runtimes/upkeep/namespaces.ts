import { systemNamespace, type KubeObject, type Runtime } from '@roundsman/api';
import { resources, type Cluster } from '@roundsman/cluster';

/** The namespace of the default runtime: a cluster that is not the small one does not have it. Those of tasks are there before their tasks. */
export class Namespaces {
  readonly #cluster: Cluster;
  #there = false;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async keep({ metadata }: Runtime): Promise<void> {
    if (this.#there || metadata.namespace !== systemNamespace) return;
    if ((await this.#cluster.get(resources.namespaces, undefined, systemNamespace)) === undefined) await this.#cluster.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: systemNamespace } as KubeObject['metadata'] });
    this.#there = true;
  }

  /** Something could not be made there: perhaps it is gone. */
  doubt(): void {
    this.#there = false;
  }
}
