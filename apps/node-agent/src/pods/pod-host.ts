import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PodRuntime } from '@roundsman/containers';
import type { NetworkState } from '@roundsman/network';
import type { ServiceContext } from '@roundsman/service';
import { resolvConfForPods } from '../containers/machine-resolv-conf.ts';
import { EventRecorder } from '../events/recorder.ts';
import { ImageArchives } from '../images/image-archives.ts';
import { Images } from '../images/images.ts';
import { BusIntake } from '../intake/node-intake.ts';
import { PodSource } from '../intake/pod-source.ts';
import type { NodeCondition } from '../machine.ts';
import { volumesFolderOf, type Settings } from '../settings.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import { NodeStats } from '../stats/node-stats.ts';
import { PodStreams } from '../streams/pod-streams.ts';
import { VolumeRemover } from '../volumes/persistent/volume-remover.ts';
import type { NodeServices } from './node-services.ts';
import { PodManager } from './pod-manager.ts';
import { StartSlots } from './start-slots.ts';

/** All that runs the pods of one node: composed here, started and stopped together. */
export class PodHost {
  readonly #context: ServiceContext<Settings>;
  readonly #events: EventRecorder;
  readonly #source: PodSource;
  readonly #services: NodeServices;
  readonly #archives: ImageArchives;
  readonly #streams: PodStreams;
  readonly #stats: NodeStats;
  readonly #volumes: VolumeRemover;
  readonly manager: PodManager;

  constructor(context: ServiceContext<Settings>, runtime: PodRuntime, network: PodNetwork, networkState: NetworkState, allocatable: Readonly<Record<string, string>>) {
    const { config, bus, log } = context;
    this.#context = context;
    const intake = new BusIntake(bus, config.node);
    this.#events = new EventRecorder({ node: config.node, send: (event) => intake.event(event), onError: (error) => log.warn({ err: error }, 'event not told') });
    this.#archives = new ImageArchives({ runtime, daemon: config.docker, files: config.docker === '' ? [] : config.imageArchives, log });
    this.#services = {
      runtime,
      network,
      networkState,
      intake,
      events: this.#events,
      images: new Images(runtime, this.#events, this.#archives),
      slots: slotsOf(config),
      log,
      podsFolder: join(config.dataDir, 'pods'),
      get hostIPs() {
        return network.nodeAddresses;
      },
      allocatable,
      machineFiles: { resolvConf: resolvConfForPods, hosts: () => textOf('/etc/hosts') },
    };
    this.manager = new PodManager(this.#services);
    this.#source = new PodSource(bus, config.node, log, this.manager);
    this.#streams = new PodStreams(bus, config.node, runtime, this.manager);
    this.#volumes = new VolumeRemover({ bus, node: config.node, folder: volumesFolderOf(config), pods: () => [...this.manager.workers.values()].map(({ pod }) => pod), log });
    this.#stats = new NodeStats(bus, config.node, config.share, runtime, this.manager);
  }

  async start(): Promise<void> {
    await mkdir(this.#services.podsFolder, { recursive: true, mode: 0o700 });
    void this.#archives.start();
    // What is on the machine is known before the first pod is.
    await this.manager.start();
    await this.#source.start();
    await Promise.all([this.#streams.start(), this.#stats.start(), this.#volumes.start()]);
  }

  /** The pods go on running. */
  async stop(): Promise<void> {
    await Promise.all([this.#streams.stop(), this.#stats.stop(), this.#volumes.stop()]);
    await this.#source.stop();
    await this.manager.stop();
    await Promise.race([this.#events.idle(), new Promise((resolve) => setTimeout(resolve, 1_000).unref())]);
    this.#events.stop();
    await this.#services.runtime.close();
  }

  condition(): NodeCondition {
    const { problem } = this.manager;
    return problem === undefined
      ? { type: 'ContainersRunnable', status: 'True', reason: 'ContainerRuntimeIsUp', message: `containers run on ${this.#services.runtime.version}` }
      : { type: 'ContainersRunnable', status: 'False', reason: this.#context.config.docker === '' ? 'NoContainerRuntime' : 'ContainerRuntimeIsDown', message: problem };
  }
}

/** By socket: nodes that share a process and a daemon share what the daemon can do. */
const slots = new Map<string, StartSlots>();
function slotsOf({ docker, parallelStarts }: Settings): StartSlots {
  const shared = slots.get(docker) ?? new StartSlots();
  slots.set(docker, shared);
  shared.allow(parallelStarts);
  return shared;
}

/** Not every machine has it. */
const textOf = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');
