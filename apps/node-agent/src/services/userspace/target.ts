import type { BlockList } from 'node:net';
import { randomInt } from 'node:crypto';
import type { ForwardedEndpoint, ForwardedPort } from '../forwarding/table.ts';
import { holds, ownAddresses, rangesOf } from './client-rules.ts';

/** By which of its addresses a client reached a Service: they have policies of their own. */
export type Side = 'clusterIP' | 'external' | 'loadBalancer';

/** One port of a Service as this process forwards it; told anew it keeps its clients. */
export class Target {
  #port: ForwardedPort;
  #pods: BlockList;
  #sources: BlockList | undefined;
  readonly #clients = new Map<string, { readonly endpoint: ForwardedEndpoint; readonly untilMs: number }>();

  constructor(port: ForwardedPort, pods: BlockList) {
    this.#port = port;
    this.#pods = pods;
    this.tell(port, pods);
  }

  get affine(): boolean {
    return this.#port.affinitySeconds !== undefined;
  }

  tell(port: ForwardedPort, pods: BlockList): void {
    this.#port = port;
    this.#pods = pods;
    this.#sources = port.sourceRanges.length > 0 ? rangesOf(port.sourceRanges) : undefined;
    if (port.affinitySeconds === undefined) this.#clients.clear();
  }

  /** Where a connection of this client goes; those tried before are left out. Undefined: nowhere. */
  choose(client: string, side: Side, tried: readonly ForwardedEndpoint[] = []): ForwardedEndpoint | undefined {
    if (side === 'loadBalancer' && this.#sources !== undefined && !holds(this.#sources, client)) return undefined;
    const usable = this.#endpointsFor(client, side).filter((endpoint) => !tried.some((other) => equal(endpoint, other)));
    const kept = this.#clients.get(client);
    const known = kept !== undefined && kept.untilMs > Date.now() ? usable.find((endpoint) => equal(endpoint, kept.endpoint)) : undefined;
    const chosen = known ?? usable[usable.length > 1 ? randomInt(usable.length) : 0];
    if (chosen !== undefined && this.#port.affinitySeconds !== undefined) this.#keep(client, chosen, this.#port.affinitySeconds);
    return chosen;
  }

  serves(endpoint: ForwardedEndpoint): boolean {
    return this.#port.serving.some((other) => equal(endpoint, other));
  }

  #endpointsFor(client: string, side: Side): readonly ForwardedEndpoint[] {
    const { endpoints, localEndpoints, internalLocal, externalLocal } = this.#port;
    if (side === 'clusterIP') return internalLocal ? localEndpoints : endpoints;
    // Pods and the node itself are no outside.
    if (!externalLocal || holds(this.#pods, client) || ownAddresses().includes(client)) return endpoints;
    return localEndpoints;
  }

  #keep(client: string, endpoint: ForwardedEndpoint, seconds: number): void {
    // The oldest first: whoever comes again is moved to the end.
    this.#clients.delete(client);
    for (const [address, { untilMs }] of this.#clients) {
      if (untilMs > Date.now() && this.#clients.size < mostClients) break;
      this.#clients.delete(address);
    }
    this.#clients.set(client, { endpoint, untilMs: Date.now() + seconds * 1_000 });
  }
}

const mostClients = 65_536;

const equal = (a: ForwardedEndpoint, b: ForwardedEndpoint): boolean => a.address === b.address && a.port === b.port;
