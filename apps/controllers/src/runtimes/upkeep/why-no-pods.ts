import type { DaemonSet, Deployment, EventObject, KubeObject } from '@roundsman/api';
import type { Cluster, ClusterResource } from '@roundsman/cluster';

const events: ClusterResource = { apiVersion: 'v1', kind: 'Event', plural: 'events', namespaced: true };
/** Events are listed at most so often per workload; younger ones are given time to make their pods. */
const againMs = 5_000;

type Told = EventObject & KubeObject;
const lastMs = ({ lastTimestamp, firstTimestamp, metadata }: Told): number => Date.parse(lastTimestamp ?? firstTimestamp ?? metadata.creationTimestamp);

/** Why a workload has fewer pods than it is to have, in the words of its controller. Asked only where some are missing; what cannot be asked is not known. */
export class WhyNoPods {
  readonly #cluster: Cluster;
  readonly #found = new Map<string, { readonly atMs: number; readonly words: string | undefined }>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  /** `key`: of its Runtime. */
  async of(key: string, workload: DaemonSet | Deployment): Promise<string | undefined> {
    const failure = workload.status?.conditions?.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True');
    if (failure !== undefined) return failure.message;
    const { uid, namespace = '' } = workload.metadata;
    const known = this.#found.get(key);
    const nowMs = Date.now();
    if (known !== undefined && nowMs - known.atMs < againMs) return known.words;
    const warnings = await this.#cluster.list<Told>(events, { namespace, fields: { 'involvedObject.uid': uid, type: 'Warning', reason: 'FailedCreate' } }).catch((): Told[] => []);
    const words = warnings.sort((a, b) => lastMs(b) - lastMs(a))[0]?.message;
    this.#found.set(key, { atMs: nowMs, words });
    return words;
  }

  forget(key: string): void {
    this.#found.delete(key);
  }
}
