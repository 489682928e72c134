import { isDeepStrictEqual } from 'node:util';
import { runnerOfPod, runtimeLabels, type DaemonSet, type EndpointSlice, type Ingress, type KubeObject, type Node, type Pod, type Runtime, type Service } from '@roundsman/api';
import { messages, type Bus } from '@roundsman/bus';
import { MemoryCluster, resources, type ClusterResource } from '@roundsman/cluster';

/** A Kubernetes API whose nodes run what DaemonSets ask for, as soon as they are told to. */
export class PlayedKubernetes extends MemoryCluster {
  readonly nodes: readonly string[];
  readonly #beats = new Map<string, NodeJS.Timeout>();
  readonly #bus: () => Bus;

  constructor(nodes: readonly string[], bus: () => Bus) {
    super();
    this.nodes = nodes;
    this.#bus = bus;
    for (const name of nodes) {
      this.change<Node>(resources.nodes, undefined, name, (node) => {
        node.metadata.labels = { 'kubernetes.io/os': 'linux' };
        node.spec = {};
        node.status = { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }], conditions: [{ type: 'Ready', status: 'True' }] } as never;
      });
    }
  }

  /** What was made for a runtime, by its name: `Service/name-v4`. */
  async made(namespace: string, runtime: string): Promise<string[]> {
    const kinds: ClusterResource[] = [resources.daemonSets, resources.deployments, resources.services, resources.ingresses, resources.secrets];
    const all = await Promise.all(kinds.map((kind) => this.list<KubeObject>(kind, { namespace, labelSelector: `${runtimeLabels.runtime}=${runtime}` })));
    return all.flat().map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort();
  }

  /** Gives the DaemonSet a ready pod on these nodes whose runner is heard, and its Service an address that leads to them. */
  async run(namespace: string, runtime: Runtime, nodes = this.nodes): Promise<void> {
    const { workload = '' } = runtime.spec;
    const labels = { [runtimeLabels.runtime]: runtime.metadata.name };
    const set = await this.get<DaemonSet>(resources.daemonSets, namespace, workload);
    if (set === undefined) throw new Error(`no DaemonSet ${namespace}/${workload}`);
    for (const node of nodes) {
      const pod = `${workload}-${node}`;
      this.change<Pod>(resources.pods, namespace, pod, (one) => {
        one.metadata.labels = labels;
        one.spec = { nodeName: node } as never;
        one.status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } as never;
      });
      this.#beat(runnerOfPod(namespace, pod), runtime.metadata.name, node, `${namespace}/${pod}`);
    }
    const service = `${workload}-v4`;
    this.change<Service>(resources.services, namespace, service, (one) => {
      if (one.spec.clusterIP === undefined) one.spec = { ...one.spec, clusterIP: '10.96.0.9' };
      if (one.spec.type === 'LoadBalancer' && !isDeepStrictEqual(one.status?.loadBalancer, {})) one.status = { loadBalancer: { ingress: [{ ip: '10.8.0.1' }] } };
    });
    this.change<EndpointSlice & KubeObject>(resources.endpointSlices, namespace, `${service}-x`, (slice) => {
      slice.metadata.labels = { ...labels, 'kubernetes.io/service-name': service };
      slice.addressType = 'IPv4';
      slice.endpoints = nodes.map((node) => ({ addresses: ['10.1.0.1'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: `${workload}-${node}` } })) as never;
    });
    if ((await this.get<Ingress>(resources.ingresses, namespace, workload)) !== undefined) this.change<Ingress>(resources.ingresses, namespace, workload, (ingress) => (ingress.status = { loadBalancer: { ingress: [{ ip: '10.9.0.1' }] } }));
  }

  /** Its pods are gone and silent. */
  async end(namespace: string, runtime: Runtime): Promise<void> {
    for (const pod of await this.list<Pod>(resources.pods, { namespace, labelSelector: `${runtimeLabels.runtime}=${runtime.metadata.name}` })) {
      clearInterval(this.#beats.get(runnerOfPod(namespace, pod.metadata.name)));
      await this.delete(resources.pods, namespace, pod.metadata.name);
    }
  }

  #beat(runner: string, runtime: string, node: string, pod: string): void {
    clearInterval(this.#beats.get(runner));
    const say = (): void =>
      this.#bus().publish(messages.runnerBeat, { node, runner }, { runner, node, runtime, pod, instance: 'i', sentAt: new Date().toISOString(), version: '1', ready: true, addresses: [{ family: 'v4', address: '10.1.0.1' }], ports: { http: 8080 }, running: [], capacityQps: 10 });
    say();
    this.#beats.set(runner, setInterval(say, 200));
  }

  override close(): void {
    super.close();
    for (const timer of this.#beats.values()) clearInterval(timer);
  }
}
