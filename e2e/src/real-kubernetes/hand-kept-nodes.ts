import { isPodTerminating, type Pod } from '@roundsman/api';
import { resources, type Cluster } from '@roundsman/cluster';

/** Status is written by those whose it is, so the client of the product has no way to. */
export type PatchStatus = (resource: 'nodes' | 'pods', namespace: string | undefined, name: string, status: object) => Promise<unknown>;

const holds = (type: string) => ({ type, status: 'True', reason: 'ByHand', message: 'kept by hand', lastTransitionTime: new Date(0).toISOString() });

/**
 * Stands in for the kubelets of a control plane without machines: its nodes are ready, the pods that are bound to them run and are ready at once, and those that are
 * being deleted are gone.
 */
export class HandKeptNodes {
  readonly #cluster: Cluster;
  readonly #patchStatus: PatchStatus;
  readonly #names: readonly string[];
  readonly #ends: (() => void)[] = [];
  readonly #busy = new Set<Promise<unknown>>();
  #address = 1;

  constructor(cluster: Cluster, names: readonly string[], patchStatus: PatchStatus) {
    this.#cluster = cluster;
    this.#names = names;
    this.#patchStatus = patchStatus;
  }

  async start(): Promise<void> {
    for (const name of this.#names) await this.#cluster.apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels: { 'kubernetes.io/os': 'linux', 'kubernetes.io/hostname': name } } });
    const beat = (): void => this.#names.forEach((name, index) => this.#do(this.#beat(name, index)));
    beat();
    const timer = setInterval(beat, 5_000);
    const pods = this.#cluster.follow<Pod>(resources.pods);
    pods.onChange(({ type, object }) => {
      if (type === 'DELETED' || !this.#names.includes(object.spec.nodeName ?? '')) return;
      if (isPodTerminating(object)) this.#do(this.#cluster.delete(resources.pods, object.metadata.namespace, object.metadata.name, { uid: object.metadata.uid, gracePeriodSeconds: 0 }));
      else if (object.status?.phase !== 'Running') this.#do(this.#run(object));
    });
    await pods.synced();
    this.#ends.push(() => clearInterval(timer), () => pods.stop());
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) end();
    await Promise.all(this.#busy);
  }

  #beat(name: string, index: number): Promise<unknown> {
    const capacity = { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '20Gi' };
    return this.#patchStatus('nodes', undefined, name, { conditions: [{ ...holds('Ready'), lastHeartbeatTime: new Date().toISOString() }], addresses: [{ type: 'InternalIP', address: `10.9.0.${index + 1}` }, { type: 'Hostname', address: name }], capacity, allocatable: capacity });
  }

  #run({ metadata, spec }: Pod): Promise<unknown> {
    const podIP = `10.9.1.${(this.#address += 1)}`;
    const startedAt = new Date().toISOString();
    return this.#patchStatus('pods', metadata.namespace, metadata.name, {
      phase: 'Running', podIP, podIPs: [{ ip: podIP }], hostIP: '10.9.0.1', startTime: startedAt,
      conditions: ['Initialized', 'ContainersReady', 'Ready'].map(holds),
      containerStatuses: spec.containers.map(({ name, image }) => ({ name, image, imageID: '', ready: true, started: true, restartCount: 0, state: { running: { startedAt } }, lastState: {} })),
    });
  }

  /** What was gone in the meantime is no matter. */
  #do(work: Promise<unknown>): void {
    const done: Promise<unknown> = work.catch(() => undefined).finally(() => this.#busy.delete(done));
    this.#busy.add(done);
  }
}
