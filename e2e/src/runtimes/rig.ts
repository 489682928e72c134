import { expect } from '@jest/globals';
import { defaultRuntime, type AnyTask, type KubeObject, type ProbeErrorCode, type ReportBody, type Runtime, type RuntimeStatus, type TaskStatus } from '@roundsman/api';
import { eventually } from '@roundsman/testkit';
import { SmallCluster, type ClusterOptions } from '../cluster/small-cluster.ts';

/** A task, or what else is asked for: plural and group of its resource, with its namespace where it has one. */
export const resources = {
  NetReach: 'roundsman.io/v1/namespaces/default/netreaches',
  AppHttpHealthy: 'roundsman.io/v1/namespaces/default/apphttphealthies',
  NetDNS: 'roundsman.io/v1/namespaces/default/netdnses',
} as const;
export type Kind = keyof typeof resources;

/**
 * Success: of every request to every target. On a machine that is too busy runners say so, and what was not sent or not answered in time fails a round; no target is dead then
 * either, unless a runner that says so got no answer in time at all.
 */
export function expectSuccess(name: string, { perTarget = [], state, suspect, totals }: ReportBody): void {
  const starved = new Set(suspect.map(({ runner }) => runner));
  const dead = perTarget.filter(({ succeeded, failed, errors, runner }) => succeeded === 0 && !(starved.has(runner) && errors?.['timeout'] === failed));
  expect([name, perTarget.length > 0, dead, suspect]).toEqual([name, true, [], suspect]);
  const isTrusted = suspect.length === 0 && totals.unsent === 0;
  if (isTrusted) expect([name, state, totals.failed]).toEqual([name, 'succeed', 0]);
}

/** Requests of all rounds, as reported. */
export const sentIn = (reports: readonly ReportBody[]): number => reports.reduce((sum, { totals }) => sum + totals.sent, 0);

/** How requests fail that were answered all the same: by whoever was asked, or, of NetReach, by an ingress proxy on the way. */
const answers: readonly string[] = ['status', 'rcode', 'answer'] satisfies ProbeErrorCode[];

/**
 * What servers should have counted: all that the reports call sent. Of a request that is reported to have had no answer nobody knows whether it arrived (where
 * no server is ready, as on a machine that is too busy, it is refused on its way), so `counted` is right as well where no more than these are lacking.
 */
export function arrivedIn(reports: readonly ReportBody[], counted: number): number {
  const sent = sentIn(reports);
  const unknown = reports.flatMap(({ kind, errors }) => Object.entries(errors ?? {}).map(([code, count]) => (kind !== 'NetReach' && answers.includes(code) ? 0 : count))).reduce((sum, count) => sum + count, 0);
  return counted <= sent && counted >= sent - unknown ? counted : sent;
}

type Kept = KubeObject & { readonly status?: unknown };

/** A small cluster that carries tasks by workloads, and what its suites ask it. */
export class RuntimeRig {
  private constructor(readonly cluster: SmallCluster) {}

  /** Returns when the default runtime is whole. */
  static async start(nodes: readonly string[], options: ClusterOptions = {}): Promise<RuntimeRig> {
    const rig = new RuntimeRig(await SmallCluster.start(nodes, { ingress: true, ...options, runtimes: true }));
    try {
      await rig.until(async () => expectPhase((await rig.runtime(defaultRuntime.namespace, defaultRuntime.name))?.status, nodes.length), 90_000);
    } catch (error) {
      const logs = rig.cluster.logs();
      await rig.stop();
      throw new Error(`the default runtime did not become ready:\n${logs}`, { cause: error });
    }
    return rig;
  }

  stop(): Promise<void> {
    return this.cluster.stop();
  }

  /** Asks the gateway as any program of the machine may: undefined for what is not there. `path`: below /apis/ or, with `/api/` before it, whole. */
  async ask<T>(path: string): Promise<T | undefined> {
    const response = await fetch(`http://127.0.0.1:${this.cluster.port}${path.startsWith('/') ? path : `/apis/${path}`}`, { headers: { authorization: `Bearer ${this.cluster.token}` }, signal: AbortSignal.timeout(10_000) });
    const body = (await response.json()) as T & { message?: string };
    if (response.status === 404) return undefined;
    if (!response.ok) throw new Error(`${path}: ${response.status} ${body.message}`);
    return body;
  }

  async list<T = Kept>(path: string): Promise<T[]> {
    return (await this.ask<{ items: T[] }>(path))?.items ?? [];
  }

  task(kind: Kind, name: string): Promise<AnyTask | undefined> {
    return this.ask<AnyTask>(`${resources[kind]}/${name}`);
  }

  async status(kind: Kind, name: string): Promise<TaskStatus> {
    return (await this.task(kind, name))?.status ?? {};
  }

  runtime(namespace: string, name: string): Promise<Runtime | undefined> {
    return this.ask<Runtime>(`roundsman.io/v1/namespaces/${namespace}/runtimes/${name}`);
  }

  /** The runtime of a task's own. */
  async ownRuntime(kind: Kind, name: string): Promise<Runtime | undefined> {
    return (await this.list<Runtime>('roundsman.io/v1/namespaces/default/runtimes')).find(({ spec }) => spec.task?.kind === kind && spec.task.name === name);
  }

  /** How the last closed round of a task went. */
  async report(kind: Kind, name: string): Promise<ReportBody> {
    const found = await this.ask<{ status: ReportBody }>(`roundsman.io/v1/namespaces/default/reports/${kind.toLowerCase()}-${name}`);
    if (found === undefined) throw new Error(`no report of ${kind} ${name}`);
    return found.status;
  }

  /** Those of all kept rounds, first round first. */
  async history(kind: Kind, name: string): Promise<ReportBody[]> {
    const all = await this.list<{ status: ReportBody }>(`roundsman.io/v1/namespaces/default/roundreports?labelSelector=roundsman.io/task-kind=${kind},roundsman.io/task=${name}`);
    return all.map(({ status }) => status).sort((a, b) => a.round - b.round);
  }

  /** What lies in the namespace of tasks on behalf of runtimes: `DaemonSet name`, `Service name-v4`. */
  async made(label = 'roundsman.io/runtime'): Promise<string[]> {
    const kinds = { DaemonSet: 'apps/v1/namespaces/default/daemonsets', Deployment: 'apps/v1/namespaces/default/deployments', Service: '/api/v1/namespaces/default/services', Ingress: 'networking.k8s.io/v1/namespaces/default/ingresses', Secret: '/api/v1/namespaces/default/secrets', Pod: '/api/v1/namespaces/default/pods', Runtime: 'roundsman.io/v1/namespaces/default/runtimes' };
    const found = await Promise.all(Object.entries(kinds).map(async ([kind, path]) => (await this.list(kind === 'Runtime' ? path : `${path}?labelSelector=${label}`)).map(({ metadata }) => `${kind} ${metadata.name}`)));
    return found.flat().sort();
  }

  /** Waits until `look` neither throws nor answers false. */
  until<T>(look: () => T | Promise<T>, within = 30_000): Promise<Exclude<T, false>> {
    return eventually(look, { within, every: 250 });
  }

  /** When all rounds of the task are done: its status. */
  async finished(kind: Kind, name: string, within = 60_000): Promise<TaskStatus> {
    let seen: TaskStatus = {};
    try {
      return await this.until(async () => {
        seen = await this.status(kind, name);
        return seen.finish === true ? seen : false;
      }, within);
    } catch {
      throw new Error(`${kind} ${name} did not finish within ${within} ms: ${JSON.stringify(seen, undefined, 1)}`);
    }
  }
}

function expectPhase(status: RuntimeStatus | undefined, runners: number): boolean {
  if (status?.phase !== 'Ready' || status.ready !== runners) throw new Error(JSON.stringify(status ?? 'no runtime'));
  return true;
}
