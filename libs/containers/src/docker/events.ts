import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Owner, RuntimeEvent } from '../pod-runtime.ts';
import type { Daemon } from './daemon.ts';
import { jsonLines } from './json-lines.ts';
import { ownedBy, readLabels } from './names.ts';

/** Between tries to reach a daemon that is away, milliseconds. */
const retryMs = 500;

const types: Readonly<Record<string, RuntimeEvent['type']>> = { start: 'started', die: 'ended', destroy: 'removed', oom: 'oom' };

interface DaemonEvent {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

interface Known {
  readonly podUid: string;
  readonly container: string | undefined;
  readonly running: boolean;
}

/**
 * What happens to one owner's containers, from the daemon's stream of events. When the stream breaks (the daemon was restarted) it is opened again,
 * and what changed meanwhile is found by comparing the lists before and after.
 */
export class RuntimeEvents {
  readonly #daemon: Daemon;
  readonly #owner: Owner;
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  readonly #closed = new AbortController();
  #known: Map<string, Known> | undefined;
  #running: Promise<void> | undefined;

  constructor(daemon: Daemon, owner: Owner) {
    this.#daemon = daemon;
    this.#owner = owner;
  }

  listen(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener);
    this.#running ??= this.#run();
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#closed.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
      } catch {
        // The daemon is away: `problem()` of the runtime says so in words; here it is waited for.
      }
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const filters = { type: ['container'], event: Object.keys(types), label: ownedBy(this.#owner) };
    const stream = await this.#daemon.ask('Unavailable', (docker, late) => docker.getEvents({ filters: JSON.stringify(filters), abortSignal: AbortSignal.any([signal, late]) }));
    try {
      // Listed after the stream was opened: nothing can happen between the two unseen.
      await this.#compare();
      for await (const event of jsonLines(stream)) this.#happened(event as DaemonEvent);
    } finally {
      (stream as Readable).destroy();
    }
  }

  async #compare(): Promise<void> {
    const list = await this.#daemon.ask('Unavailable', (docker, abortSignal) => docker.listContainers({ all: true, filters: { label: ownedBy(this.#owner) }, abortSignal }));
    const now = new Map(list.map(({ Id, Labels, State }): [string, Known] => [Id, { ...identityOf(Labels), running: State === 'running' }]));
    const before = this.#known ?? now;
    this.#known = now;
    for (const [id, was] of before) {
      const is = now.get(id);
      if (was.running && is?.running !== true) this.#tell(id, was, 'ended');
      if (is === undefined) this.#tell(id, was, 'removed');
    }
    for (const [id, is] of now) if (is.running && before.get(id)?.running !== true) this.#tell(id, is, 'started');
  }

  #happened({ Action, Actor }: DaemonEvent): void {
    const type = types[Action];
    if (type === undefined) return;
    const identity = identityOf(Actor.Attributes);
    if (type === 'removed') this.#known?.delete(Actor.ID);
    else if (type !== 'oom') this.#known?.set(Actor.ID, { ...identity, running: type === 'started' });
    this.#tell(Actor.ID, identity, type);
  }

  #tell(id: string, { podUid, container }: Pick<Known, 'podUid' | 'container'>, type: RuntimeEvent['type']): void {
    // A listener that throws is no fault of the daemon: it is seen as what it is.
    for (const listener of this.#listeners) queueMicrotask(() => listener({ podUid, container, id, type }));
  }
}

const identityOf = (labels: Readonly<Record<string, string>>): Pick<Known, 'podUid' | 'container'> => {
  const { podUid, container } = readLabels(labels);
  return { podUid, container };
};
