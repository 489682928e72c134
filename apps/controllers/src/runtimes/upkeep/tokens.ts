import { tokenHashOf, type Runtime } from '@roundsman/api';
import { resources, type Cluster } from '@roundsman/cluster';
import type { Informer } from '@roundsman/reconcile';
import type { Objects } from '../../objects.ts';
import { newToken, tokenOf } from '../manifests/secret.ts';
import type { RuntimeView, Secret } from './runtime-view.ts';

/** What the runners of each runtime say to NATS: it lies in a Secret beside them, and here only as its hash. */
export class Tokens {
  readonly #cluster: Cluster;
  readonly #view: RuntimeView;
  readonly #runtimes: Informer<Runtime>;
  readonly #objects: Objects;
  /** By uid of the Runtime. */
  readonly #known = new Map<string, string>();

  constructor(cluster: Cluster, view: RuntimeView, runtimes: Informer<Runtime>, objects: Objects) {
    this.#cluster = cluster;
    this.#view = view;
    this.#runtimes = runtimes;
    this.#objects = objects;
  }

  /** The token, and the Runtime that has its hash. Of a Secret that is lost, or says something else, there is a new one: the hash is written first, so that whoever has it is let in. */
  async of(runtime: Runtime): Promise<{ readonly token: string; readonly runtime: Runtime }> {
    const { uid, namespace = '' } = runtime.metadata;
    const { tokenHash, workload = '' } = runtime.spec;
    const isRight = (token: string | undefined): token is string => token !== undefined && tokenHashOf(token) === tokenHash;
    if (tokenHash !== undefined) {
      const known = this.#known.get(uid) ?? tokenOf(this.#view.secrets.get(namespace, workload)) ?? tokenOf(await this.#cluster.get<Secret>(resources.secrets, namespace, workload));
      if (isRight(known)) {
        this.#known.set(uid, known);
        return { token: known, runtime };
      }
    }
    const token = newToken();
    const written = await this.#objects.update(this.#runtimes, { ...runtime, spec: { ...runtime.spec, tokenHash: tokenHashOf(token) } });
    this.#known.set(uid, token);
    return { token, runtime: written };
  }

  /** Its Secret was removed: that asks for a new token. */
  forget(uid: string): void {
    this.#known.delete(uid);
  }
}
