import type { Logger } from 'pino';
import type { Forwarder } from '../forwarder.ts';
import type { PublishedPort } from '../host-ports.ts';
import type { ForwardingTable } from '../forwarding/table.ts';
import type { NetworkNamespace } from '../network-namespace.ts';
import { existingIn, hasRules, holds, hostPortsIn, listed } from './kernel-table.ts';
import { nft, NftProblem } from './nft.ts';
import { RefusedPorts } from './refused-ports.ts';
import { rulesetOf } from './render.ts';
import { difference, recreation, removal, replacement, type Ruleset } from './ruleset.ts';

/** `inet roundsman-<cluster>`: clusters on one machine have a table each, and none touches another's. */
export const tableOf = (cluster: string): string => `inet roundsman-${cluster}`;

/** Every packet that opens a connection passes it: without it nothing is forwarded. */
const entry = 'services';

/** Forwarding by the kernel, in one namespace: one table, changed in transactions, each of which holds only what differs. Calls are the owner's to serialise. */
export class NftablesProxy implements Forwarder {
  readonly #table: string;
  readonly #namespace: NetworkNamespace;
  readonly #log: Pick<Logger, 'info' | 'warn'>;
  /** What the kernel holds, as far as is known; undefined: whatever a predecessor left. */
  #held: Ruleset | undefined;
  readonly #refused = new RefusedPorts();

  constructor(cluster: string, namespace: NetworkNamespace, log: Pick<Logger, 'info' | 'warn'>) {
    this.#table = tableOf(cluster);
    this.#namespace = namespace;
    this.#log = log;
  }

  /** Throws NftProblem when this cannot be used here. Changes nothing. */
  async probe(): Promise<void> {
    await this.#check({ podCidrs: [], localPodCidrs: [], clusterIpCidrs: [], loadBalancerCidrs: [], ports: [], healthChecks: [] });
  }

  async hostPorts(): Promise<readonly PublishedPort[]> {
    return hostPortsIn(await listed(this.#namespace, this.#table));
  }

  /** Nothing has changed when it rejects. One port that the kernel refuses does not stop the others. */
  async apply(table: ForwardingTable, hostPorts: readonly PublishedPort[]): Promise<readonly string[]> {
    const ports = this.#refused.without(table.ports);
    try {
      await this.#hold(rulesetOf({ ...table, ports }, hostPorts));
    } catch (error) {
      const isOne = error instanceof NftProblem && error.kind === 'refused' && (await this.#refused.find(ports, (some) => this.#check({ ...table, ports: some })));
      if (!isOne) throw error;
      await this.#hold(rulesetOf({ ...table, ports: this.#refused.without(table.ports) }, hostPorts));
    }
    return this.#refused.problems;
  }

  async #hold(wanted: Ruleset): Promise<void> {
    if (this.#held === undefined) await this.#replace(wanted);
    else await this.#change(this.#held, wanted);
    this.#held = wanted;
  }

  /** Whether the kernel would take such rules. Changes nothing. */
  #check(table: ForwardingTable): Promise<string> {
    return nft(this.#namespace, ['--check', '-f', '-'], recreation(`${this.#table}.probe`, rulesetOf(table, [])));
  }

  async verify(thorough: boolean): Promise<void> {
    const held = this.#held;
    if (held === undefined) return;
    if (thorough ? holds(await listed(this.#namespace, this.#table), held) : await hasRules(this.#namespace, this.#table, entry)) return;
    this.#log.warn({ table: this.#table }, 'somebody has changed the rules of Services: they are put back');
    await this.#replace(held);
  }

  async remove(): Promise<void> {
    await nft(this.#namespace, ['-f', '-'], removal(this.#table));
    this.#held = undefined;
  }

  async #change(before: Ruleset, wanted: Ruleset): Promise<void> {
    const script = difference(this.#table, before, wanted);
    if (script === '') return;
    try {
      await this.#run(script);
    } catch (error) {
      if (!(error instanceof NftProblem) || error.kind !== 'refused') throw error;
      this.#log.warn({ err: error, table: this.#table }, 'the rules of Services are not as they were left: all are written anew');
      await this.#replace(wanted);
    }
  }

  async #replace(wanted: Ruleset): Promise<void> {
    try {
      await this.#run(replacement(this.#table, existingIn(await listed(this.#namespace, this.#table)), wanted));
    } catch (error) {
      if (!(error instanceof NftProblem) || error.kind !== 'refused') throw error;
      // Chains or maps of another making: connections in flight go on, clients lose their affinity.
      await this.#run(recreation(this.#table, wanted));
    }
  }

  #run(script: string): Promise<string> {
    return nft(this.#namespace, ['-f', '-'], script);
  }
}
