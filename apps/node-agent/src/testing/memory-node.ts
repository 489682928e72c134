import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ContainerStatus, Pod, PodSpecInput, PodStatus } from '@roundsman/api';
import { FakePodRuntime } from '@roundsman/containers';
import { pino } from 'pino';
import { noMaterials, type Materials } from '../environment/materials.ts';
import { Images } from '../images/images.ts';
import type { NodeIntake } from '../intake/node-intake.ts';
import type { NodeServices } from '../pods/node-services.ts';
import { PodManager } from '../pods/pod-manager.ts';
import { StartSlots } from '../pods/start-slots.ts';
import { unmountBelow } from '../volumes/mounts.ts';
import { MemoryNetwork, networkStateOf } from './memory-network.ts';
import { podOf } from './runs.ts';

/** The pods of one node without a daemon, a bus or a record: containers do what the test says (`runtime`). */
export class MemoryNode implements NodeIntake {
  readonly runtime = new FakePodRuntime();
  readonly network = new MemoryNetwork();
  /** `name reason: message`, each time. */
  readonly events: string[] = [];
  /** Every status that was written, in order. */
  readonly statuses: PodStatus[] = [];
  readonly folder: string;
  materialsNow: Materials = noMaterials;
  readonly #pods = new Map<string, Pod>();
  #version = 1;
  #manager: PodManager | undefined;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async start(): Promise<MemoryNode> {
    const node = new MemoryNode(await mkdtemp(join(tmpdir(), 'roundsman-node-')));
    await node.up();
    return node;
  }

  get manager(): PodManager {
    if (this.#manager === undefined) throw new Error('no agent runs');
    return this.#manager;
  }

  async up(): Promise<void> {
    const events = { record: (pod: Pod, _type: string, reason: string, message: string): void => void this.events.push(`${pod.metadata.name} ${reason}: ${message}`) };
    const slots = new StartSlots();
    slots.allow(4);
    const services: NodeServices = {
      runtime: this.runtime,
      network: this.network,
      networkState: networkStateOf(),
      intake: this,
      events,
      images: new Images(this.runtime, events),
      slots,
      log: pino({ level: 'silent' }),
      podsFolder: this.folder,
      hostIPs: ['127.0.0.1'],
      allocatable: { cpu: '4', memory: '4Gi', pods: '110' },
      machineFiles: { resolvConf: () => Promise.resolve(''), hosts: () => Promise.resolve('') },
    };
    this.#manager = new PodManager(services);
    await this.#manager.start();
    // Lists have no order.
    this.#manager.all([...this.#pods.values()].reverse());
  }

  async down(): Promise<void> {
    await this.#manager?.stop();
    this.#manager = undefined;
  }

  async stop(): Promise<void> {
    await this.down();
    await unmountBelow(this.folder);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A pod bound to the node; its uid is its name. */
  create(name: string, spec: PodSpecInput): Pod {
    const pod = podOf(spec);
    return this.#store({ ...pod, metadata: { ...pod.metadata, name, uid: name } });
  }

  change(name: string, change: (pod: Pod) => Pod): void {
    this.#store(change(this.get(name)));
  }

  get(name: string): Pod {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    return pod;
  }

  container(pod: string, name = 'main'): ContainerStatus | undefined {
    const { initContainerStatuses = [], containerStatuses = [] } = this.get(pod).status ?? {};
    return [...initContainerStatuses, ...containerStatuses].find((status) => status.name === name);
  }

  #store(pod: Pod): Pod {
    this.#version += 1;
    const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } };
    this.#pods.set(pod.metadata.name, stored);
    this.#manager?.changed(stored);
    return stored;
  }

  status(pod: Pod, status: PodStatus): Promise<Pod> {
    this.statuses.push(status);
    return Promise.resolve(this.#store({ ...this.get(pod.metadata.name), status: JSON.parse(JSON.stringify(status)) as PodStatus }));
  }

  gone(pod: Pod): Promise<void> {
    this.#pods.delete(pod.metadata.name);
    return Promise.resolve();
  }

  event(): Promise<void> {
    return Promise.resolve();
  }

  materials(): Promise<Materials> {
    return Promise.resolve(this.materialsNow);
  }
}
