import { resourceKey, type KubeObject } from '@roundsman/api';
import type { ChangeFeed } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { EventSink, EventSource, Page, PageQuery, Reader, Stored } from './reader.ts';

/** Stored objects: reads from Postgres (so a client reads what it wrote), changes from the process's feed. */
export class StoredReader implements Reader {
  readonly #store: Store;
  readonly #feed: ChangeFeed;
  readonly #stored: Stored;
  readonly #resource: string;

  constructor(store: Store, feed: ChangeFeed, stored: Stored) {
    this.#store = store;
    this.#feed = feed;
    this.#stored = stored;
    this.#resource = resourceKey(stored.kind);
  }

  async get(namespace: string | undefined, name: string): Promise<KubeObject | undefined> {
    const object = await this.#store.get(this.#resource, this.#namespace(namespace), name);
    return object && this.#shown(object);
  }

  async page(query: PageQuery): Promise<Page> {
    const page = await this.#store.page(this.#resource, { ...query, namespace: this.#namespace(query.namespace) });
    return this.#stored.view ? { ...page, items: page.items.map((object) => this.#shown(object)) } : page;
  }

  head(): Promise<number> {
    return this.#store.head();
  }

  follow(namespace: string | undefined, since: number, sink: EventSink): EventSource {
    const wanted = this.#namespace(namespace);
    return this.#feed.follow({
      resource: this.#resource,
      since,
      change: ({ type, version, namespace: held, object }) => {
        if (wanted === undefined || wanted === held) sink.event({ type, version, object: this.#shown(object as unknown as KubeObject) });
      },
      relist: sink.expired,
      ready: sink.ready,
    });
  }

  /** A view that is cluster-scoped shows one namespace. */
  #namespace(asked: string | undefined): string | undefined {
    return this.#stored.view?.namespace ?? asked;
  }

  #shown(object: KubeObject): KubeObject {
    return this.#stored.view ? this.#stored.view.fromStored(object) : object;
  }
}
