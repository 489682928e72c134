import { Announced, messages, type Bus, type BusLog } from '@roundsman/bus';
import type { z } from 'zod';
import { NetworkState } from './network-state.ts';

type Announcement = z.output<(typeof messages.networkChange)['schema']>;
type Page = z.output<(typeof messages.networkState)['reply']>;

/** Keeps a NetworkState as intake tells it. */
export class FollowedNetwork {
  readonly state = new NetworkState();
  readonly #announced: Announced<Announcement, Page>;

  constructor(bus: Bus, log: Pick<BusLog, 'warn'>) {
    const { state } = this;
    this.#announced = new Announced<Announcement, Page>(
      {
        what: 'the network of the cluster',
        subscribe: (handle) => bus.subscribe(messages.networkChange, {}, ({ payload }) => handle(payload)),
        previousOf: ({ previous }) => previous,
        ask: async (question) => {
          const page = await bus.request(messages.networkState, {}, question);
          // Another intake may have other settings, and no change to tell.
          if (state.network !== undefined && page.objects === undefined) state.decide(page.network);
          return page;
        },
        holds: ({ objects }) => objects !== undefined,
        all: (pages) => state.replace((pages[0] as Page).network, pages.flatMap(({ objects }) => objects ?? [])),
        changed: ({ type, resource, object }) => state.apply(type, resource, object),
      },
      log,
    );
  }

  /** Resolves when changes are heard; `state.network` is there once the first listing is in (it is asked for until then). */
  start(): Promise<void> {
    return this.#announced.start();
  }

  stop(): Promise<void> {
    return this.#announced.stop();
  }
}
