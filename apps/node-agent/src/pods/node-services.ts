import type { PodRuntime } from '@roundsman/containers';
import type { Logger } from 'pino';
import type { PodEvents } from '../events/recorder.ts';
import type { Images } from '../images/images.ts';
import type { NodeIntake } from '../intake/node-intake.ts';
import type { NetworkState } from '@roundsman/network';
import type { PodNetwork } from '../network/pod-network.ts';
import type { StartSlots } from './start-slots.ts';

/** What all pods of a node are run with. */
export interface NodeServices {
  readonly runtime: PodRuntime;
  readonly network: PodNetwork;
  /** Of the cluster: where its Services are, and its DNS. */
  readonly networkState: NetworkState;
  readonly intake: NodeIntake;
  readonly events: PodEvents;
  readonly images: Images;
  readonly slots: StartSlots;
  readonly log: Logger;
  /** Folder of the pods' files; each has one of its own below, named by its uid. */
  readonly podsFolder: string;
  /** Of the node; they may change while it gets its network. */
  readonly hostIPs: readonly string[];
  /** Of the node, as quantities. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The machine's own: what pods are given of them. */
  readonly machineFiles: { readonly resolvConf: () => Promise<string>; readonly hosts: () => Promise<string> };
}
