import type { PodRuntime } from '@roundsman/containers';
import type { Logger } from 'pino';
import type { PodEvents } from '../events/recorder.ts';
import type { Images } from '../images/images.ts';
import type { NodeIntake } from '../intake/node-intake.ts';
import type { StartSlots } from './start-slots.ts';

/** What all pods of a node are run with. */
export interface NodeServices {
  readonly runtime: PodRuntime;
  readonly intake: NodeIntake;
  readonly events: PodEvents;
  readonly images: Images;
  readonly slots: StartSlots;
  readonly log: Logger;
  /** Folder of the pods' files; each has one of its own below, named by its uid. */
  readonly podsFolder: string;
  readonly hostIPs: readonly string[];
  /** Of the node, as quantities. */
  readonly allocatable: Readonly<Record<string, string>>;
  /** The machine's own: what pods are given of them. */
  readonly machineFiles: { readonly resolvConf: () => Promise<string>; readonly hosts: () => Promise<string> };
}
