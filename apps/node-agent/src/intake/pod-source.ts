import type { Pod } from '@roundsman/api';
import { Announced, messages, type Bus } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { z } from 'zod';

type Announcement = z.output<(typeof messages.nodePod)['schema']>;
type Page = z.output<(typeof messages.nodePods)['reply']>;

export interface PodChanges {
  /** All pods of this node: whatever is not among them is gone. */
  all(pods: readonly Pod[]): void;
  changed(pod: Pod): void;
  gone(pod: Pod): void;
}

/** Follows the pods bound to one node. */
export class PodSource {
  readonly #announced: Announced<Announcement, Page>;

  constructor(bus: Bus, node: string, log: Logger, changes: PodChanges) {
    this.#announced = new Announced<Announcement, Page>(
      {
        what: 'the pods of this node',
        subscribe: (handle) => bus.subscribe(messages.nodePod, { node }, ({ payload }) => handle(payload)),
        previousOf: ({ previousOfNode }) => previousOfNode,
        ask: (question) => bus.request(messages.nodePods, { node }, question),
        holds: ({ pods }) => pods !== undefined,
        all: (pages) => changes.all(pages.flatMap(({ pods }) => pods ?? []) as unknown as Pod[]),
        changed: ({ type, object }) => {
          const pod = object as unknown as Pod;
          if (type === 'DELETED') changes.gone(pod);
          else changes.changed(pod);
        },
      },
      log,
    );
  }

  start(): Promise<void> {
    return this.#announced.start();
  }

  stop(): Promise<void> {
    return this.#announced.stop();
  }
}
