import type { AnyTask, Condition, NetDnsSpec, TaskStatus } from '@roundsman/api';
import type { Deps, Wake } from '../loop.ts';
import { wholeSeconds } from '../timestamps.ts';
import { findServers } from './find-servers.ts';
import { servicesOf, storedServices, type ServiceSource } from './services.ts';

type DnsTask = AnyTask & { spec: NetDnsSpec & { target: { targetDns: object } } };
const asksByService = (task: AnyTask): task is DnsTask => task.kind === 'NetDNS' && (task.spec as NetDnsSpec).target.targetDns !== undefined;

/**
 * Whom NetDNS tasks with `targetDns` ask: `status.dnsServers` and the condition `TargetsFound`. Services are followed from the first such task on, in the Kubernetes
 * API of the kubeconfig; where none is set, in the own store.
 */
export class DnsServers {
  readonly #deps: Pick<Deps, 'caches' | 'cluster' | 'settings'>;
  #source: ServiceSource | undefined;
  #sinceMs = 0;
  #wake: () => void = () => undefined;

  constructor(deps: Pick<Deps, 'caches' | 'cluster' | 'settings'>) {
    this.#deps = deps;
  }

  /** Wakes the tasks that a changed Service may concern, by the keys that `keyOf` makes. */
  wakes(keyOf: (task: AnyTask) => string): Wake {
    return (wake) => {
      this.#wake = () => {
        for (const task of this.#deps.caches.tasks.NetDNS.list()) if (asksByService(task)) wake(keyOf(task));
      };
      return () => {
        this.#wake = () => undefined;
        this.#source?.stop();
        this.#source = undefined;
      };
    };
  }

  /** The status with what is known of the task's servers; as it is for a task that has no `targetDns`. */
  into(task: AnyTask, status: TaskStatus, nowMs: number): TaskStatus {
    if (!asksByService(task)) return status;
    const source = (this.#source ??= this.#open(nowMs));
    const { conditions = [] } = status;
    const before = task.status?.conditions?.find(({ type }) => type === 'TargetsFound');
    const { generation: observedGeneration } = task.metadata;
    const { dnsServerLabel: label, runtimeWaitMs } = this.#deps.settings;
    const withCondition = (condition: Pick<Condition, 'type' | 'status' | 'reason' | 'message'>): Condition[] => [
      ...conditions,
      { ...condition, observedGeneration, lastTransitionTime: before?.status === condition.status ? before.lastTransitionTime : wholeSeconds(nowMs) },
    ];
    if (source.complete) {
      const { dnsServers, condition } = findServers(task.spec, source, label);
      return { ...status, dnsServers, conditions: withCondition(condition) };
    }
    // What was found before holds until something else is known.
    if (before?.observedGeneration === observedGeneration) return { ...status, ...(task.status?.dnsServers === undefined ? {} : { dnsServers: task.status.dnsServers }), conditions: [...conditions, before] };
    if (nowMs - this.#sinceMs < runtimeWaitMs) return status;
    return { ...status, conditions: withCondition({ type: 'TargetsFound', status: 'Unknown', reason: 'ClusterUnreachable', message: `spec.target.targetDns: ${source.problem() ?? 'services are not listed yet'}.` }) };
  }

  #open(nowMs: number): ServiceSource {
    const { cluster, caches } = this.#deps;
    this.#sinceMs = nowMs;
    const source = cluster === undefined ? storedServices(caches) : servicesOf(cluster);
    source.onChange(() => this.#wake());
    return source;
  }
}
