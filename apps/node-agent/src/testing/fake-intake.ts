import { randomUUID } from 'node:crypto';
import { decode, kindByResource, type Pod, type PodSpecInput, type PodStatus } from '@roundsman/api';
import { endpoint, messages, ServiceError, type Bus, type Subscription, type WireObject } from '@roundsman/bus';

export interface SeenEvent {
  readonly name: string;
  readonly pod: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly fieldPath: string | undefined;
}

/** As much of intake as the agent of one node sees: its pods in memory, announced over real NATS. */
export class FakeIntake {
  readonly #pods = new Map<string, Pod>();
  readonly #events = new Map<string, SeenEvent>();
  readonly configMaps = new Map<string, Record<string, string>>();
  readonly secrets = new Map<string, Record<string, string>>();
  /** Claims by name, to the directory behind each. */
  readonly claims = new Map<string, string>();
  /** Every status that was written, in order. */
  readonly statuses: { readonly name: string; readonly status: PodStatus; readonly at: number }[] = [];
  /** Announcements are lost. */
  deaf = false;
  #version = 0;
  #told = 0;
  #served: Subscription | undefined;

  constructor(
    private readonly bus: Bus,
    private readonly node: string,
  ) {}

  async start(): Promise<void> {
    const { node } = this;
    this.#served = await this.bus.serve({ name: 'intake', version: '0.1.0', description: 'for tests' }, [
      endpoint(messages.nodePods, ({ seen }) => (seen === this.#told ? { version: this.#told } : { version: this.#told, pods: [...this.#pods.values()] as unknown as WireObject[] }), { node }),
      endpoint(
        messages.nodeWrite,
        (asked) => {
          if (asked.operation === 'event') return this.#event(asked.event as never);
          if (asked.operation === 'volumeRemoved' || asked.operation === 'volumeKept') return {};
          const pod = this.#pods.get(asked.name);
          if (pod === undefined || pod.metadata.uid !== asked.uid) throw new ServiceError(404, `pods "${asked.name}" not found`);
          if (asked.operation === 'podGone') {
            this.remove(asked.name);
            return {};
          }
          const status = asked.status as PodStatus;
          this.statuses.push({ name: asked.name, status, at: Date.now() });
          return { object: this.#store({ ...pod, status }) as unknown as WireObject };
        },
        { node },
      ),
      endpoint(
        messages.nodeMaterials,
        () => ({
          configMaps: [...this.configMaps].map(([name, data]) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data })),
          secrets: [...this.secrets].map(([name, data]) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'default' }, data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')])) })),
          persistentVolumeClaims: [...this.claims.keys()].map((name) => ({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { volumeName: `volume-${name}` } })),
          persistentVolumes: [...this.claims].map(([name, path]) => ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: `volume-${name}` }, spec: { claimRef: { namespace: 'default', name, uid: `uid-${name}` }, hostPath: { path } } })),
        }),
        { node },
      ),
    ]);
  }

  async stop(): Promise<void> {
    await this.#served?.stop();
  }

  /** A pod bound to the node, with Kubernetes' defaults. */
  create(name: string, spec: PodSpecInput, metadata: Partial<Pod['metadata']> = {}): Pod {
    const kind = kindByResource.get('pods')!;
    const { object } = decode(kind, { metadata: { name, namespace: 'default', uid: randomUUID(), creationTimestamp: new Date().toISOString(), generation: 1, ...metadata }, spec: { ...spec, nodeName: this.node } }, 'Strict');
    return this.#store(object as unknown as Pod, 'ADDED');
  }

  /** As a person deletes it. */
  delete(name: string, seconds?: number): void {
    const pod = this.get(name);
    if (seconds === 0) return this.remove(name, 0);
    const grace = seconds ?? pod.spec.terminationGracePeriodSeconds;
    this.#store({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date(Date.now() + grace * 1000).toISOString(), deletionGracePeriodSeconds: grace } });
  }

  remove(name: string, grace?: number): void {
    const pod = this.get(name);
    this.#pods.delete(name);
    this.#announce('DELETED', { ...pod, metadata: { ...pod.metadata, ...(grace === undefined ? {} : { deletionGracePeriodSeconds: grace }) } });
  }

  change(name: string, change: (pod: Pod) => Pod): void {
    this.#store(change(this.get(name)));
  }

  get(name: string): Pod {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    return pod;
  }

  has(name: string): boolean {
    return this.#pods.has(name);
  }

  get names(): string[] {
    return [...this.#pods.keys()];
  }

  status(name: string): PodStatus {
    return this.get(name).status ?? {};
  }

  /** `reason: message`, in order of their first time. */
  events(name: string): string[] {
    return this.seenEvents(name).map(({ reason, message }) => `${reason}: ${message}`);
  }

  seenEvents(name: string): SeenEvent[] {
    return [...this.#events.values()].filter(({ pod }) => pod === name);
  }

  #event(event: { metadata: { name: string }; involvedObject: { name: string; fieldPath?: string }; type: string; reason: string; message: string; count: number }): object {
    const { metadata, involvedObject, type, reason, message, count } = event;
    this.#events.set(metadata.name, { name: metadata.name, pod: involvedObject.name, type, reason, message, count, fieldPath: involvedObject.fieldPath });
    return {};
  }

  #store(pod: Pod, type: 'ADDED' | 'MODIFIED' = 'MODIFIED'): Pod {
    const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version + 1) } };
    this.#pods.set(pod.metadata.name, stored);
    this.#announce(type, stored);
    return stored;
  }

  #announce(type: 'ADDED' | 'MODIFIED' | 'DELETED', pod: Pod): void {
    this.#version += 1;
    const previousOfNode = this.#told;
    this.#told = this.#version;
    if (!this.deaf) this.bus.publish(messages.nodePod, { node: this.node }, { type, version: this.#version, previousOfNode, object: pod as unknown as WireObject });
  }
}
