import type { ForwardingTable } from './forwarding/table.ts';
import type { PublishedPort } from './host-ports.ts';

/** Serves a forwarding table in one network namespace; what it serves outlives the agent. One call at a time. */
export interface Forwarder {
  /** In effect when it resolves. Answers what could not be served, in words a person can act on. */
  apply(table: ForwardingTable, hostPorts: readonly PublishedPort[]): Promise<readonly string[]>;
  /** Looks whether it is still served as it was told, and puts it back; not `thorough`: only whether it is there at all, at next to no cost. */
  verify(thorough: boolean): Promise<void>;
  /** Host ports served now: what an agent before this one published. */
  hostPorts(): Promise<readonly PublishedPort[]>;
  /** Nothing of it is left. */
  remove(): Promise<void>;
}
