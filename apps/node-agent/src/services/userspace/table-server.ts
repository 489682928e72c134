import type { ForwardingTable } from '../forwarding/table.ts';
import type { PublishedPort } from '../host-ports.ts';
import { ownAddresses, rangesOf } from './client-rules.ts';
import type { Listening } from './listening.ts';
import { placesOf, serviceOf, type WantedPlace } from './places.ts';
import { Target } from './target.ts';
import { listenTcp } from './tcp.ts';
import { listenUdp } from './udp.ts';

/** A place that could not be taken. */
export interface Untaken {
  readonly address: string;
  readonly port: number;
  /** `EADDRNOTAVAIL`. */
  readonly code: string;
}

/** Answers on every place of a table; a new table changes only what differs. */
export class TableServer {
  readonly #targets = new Map<string, Target>();
  readonly #listening = new Map<string, Listening>();
  hostPorts: readonly PublishedPort[] = [];

  async serve(table: ForwardingTable, hostPorts: readonly PublishedPort[]): Promise<Untaken[]> {
    this.hostPorts = hostPorts;
    const pods = rangesOf(table.podCidrs);
    const own = ownAddresses();
    const wanted = new Map<string, { readonly place: WantedPlace; readonly target: Target }>();
    const ports = [...table.ports, ...hostPorts.map(serviceOf)];
    for (const port of ports) {
      const target = this.#targets.get(port.key) ?? new Target(port, pods);
      target.tell(port, pods);
      this.#targets.set(port.key, target);
      for (const place of placesOf(port, own)) {
        if (place.address === '') continue;
        wanted.set(`${port.key} ${place.protocol} ${place.address} ${place.port} ${place.side}`, { place, target });
      }
    }
    for (const [key, listening] of this.#listening) {
      if (wanted.has(key)) listening.retarget();
      else {
        listening.close();
        this.#listening.delete(key);
      }
    }
    const keys = new Set(ports.map(({ key }) => key));
    for (const key of this.#targets.keys()) if (!keys.has(key)) this.#targets.delete(key);
    const untaken = await Promise.all([...wanted].filter(([key]) => !this.#listening.has(key)).map(([key, { place, target }]) => this.#take(key, place, target)));
    return untaken.filter((one) => one !== undefined);
  }

  close(): void {
    for (const listening of this.#listening.values()) listening.close();
    this.#listening.clear();
  }

  async #take(key: string, place: WantedPlace, target: Target): Promise<Untaken | undefined> {
    const listening = (place.protocol === 'TCP' ? listenTcp : listenUdp)({ ...place, target });
    try {
      await listening.bound;
      this.#listening.set(key, listening);
      return undefined;
    } catch (error) {
      listening.close();
      return { address: place.address, port: place.port, code: (error as NodeJS.ErrnoException).code ?? String(error) };
    }
  }
}
