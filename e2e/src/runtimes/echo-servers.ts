import type { Pod, Service } from '@roundsman/api';
import type { RuntimeRig } from './rig.ts';

const ports = { http: 8080, https: 8443, dns: 8053, dot: 8853 } as const;

/** Servers to test against, behind a Service: the echo program of the runners' image, which counts what it is asked, by task. */
export class EchoServers {
  private constructor(
    /** Cluster address of the Service: ports 80, 443, 53 (UDP and TCP) and 853. */
    readonly address: string,
    /** Addresses of the pods. */
    readonly pods: readonly string[],
  ) {}

  static async start({ cluster }: RuntimeRig, replicas = 2): Promise<EchoServers> {
    const app = { app: 'echo' };
    const container = {
      name: 'echo',
      image: cluster.runnerImage,
      args: ['/app/dist/echo-main.js'],
      ports: Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort, ...(name === 'dns' ? { protocol: 'UDP' } : {}) })),
      // Once ready it stays so on a machine however busy: a Service without endpoints refuses what is to be counted.
      readinessProbe: { httpGet: { path: '/', port: ports.http }, periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 30 },
    };
    await cluster.apply(
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'echo' }, spec: { replicas, selector: { matchLabels: app }, template: { metadata: { labels: app }, spec: { containers: [container] } } } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'echo' },
        spec: { selector: app, ports: [{ name: 'http', port: 80, targetPort: ports.http }, { name: 'https', port: 443, targetPort: ports.https }, { name: 'dns', port: 53, protocol: 'UDP', targetPort: ports.dns }, { name: 'dns-tcp', port: 53, targetPort: ports.dns }, { name: 'dot', port: 853, targetPort: ports.dot }] },
      },
    );
    await cluster.must(['rollout', 'status', 'deployment/echo', '--timeout=60s']);
    const service = await cluster.get<Service>('service', 'echo');
    const { items } = await cluster.get<{ items: Pod[] }>('pods', '-l', 'app=echo');
    return new EchoServers(service.spec.clusterIP ?? '', items.map(({ status }) => status?.podIP ?? ''));
  }

  /** Requests that came in under these names, all pods together. */
  counted(names: readonly string[]): Promise<Record<string, number>> {
    return countersAt(this.pods.map((address) => `http://${address}:${ports.http}`), names);
  }

  /** The authority behind the certificate of one pod. */
  async authority(pod: string): Promise<string> {
    return (await fetch(`http://${pod}:${ports.http}/ca.crt`)).text();
  }
}

/** Sums over echo targets of what each counted. */
export async function countersAt(servers: readonly string[], names: readonly string[]): Promise<Record<string, number>> {
  const all = await Promise.all(servers.map(async (server) => ((await (await fetch(`${server}/counters`)).json()) as { tasks: Record<string, { total: number }> }).tasks));
  return Object.fromEntries(names.map((name) => [name, all.reduce((sum, tasks) => sum + (tasks[name]?.total ?? 0), 0)]));
}
