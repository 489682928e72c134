import type { Condition } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { Logger } from 'pino';
import { namespaceSweeper } from './admission/deletion.ts';
import type { WriteRequest } from './admission/outcome.ts';
import type { WriteReply } from './group-commit.ts';
import { conditionsOf } from './namespace-remains.ts';
import type { State } from './state.ts';

type Submit = (write: WriteRequest) => Promise<WriteReply>;
type Draft = Pick<WriteRequest, 'operation' | 'resource'> & Partial<WriteRequest>;
const request = (write: Draft): WriteRequest => ({ fieldValidation: 'Strict', dryRun: false, user: namespaceSweeper, ...write });

/** Deletions of one namespace that are under way together: few enough to leave the queue of writes to others. */
const pageSize = 512;
/** Milliseconds before the next try when not one deletion of a page was taken. */
const retryMs = 500;
/** Milliseconds after which a namespace that is still there says why. */
const explainMs = 1_000;

/** Empties namespaces that were deleted, page by page, and removes them once nothing is left in them. */
export class NamespaceSweep {
  readonly #state: State;
  readonly #submit: Submit;
  readonly #log: Logger;
  readonly #terminating = new Set<string>();
  readonly #emptying = new Set<string>();
  /** Touched while it was being emptied: look once more. */
  readonly #again = new Set<string>();
  readonly #explaining = new Map<string, NodeJS.Timeout>();
  readonly #stop = new AbortController();

  constructor(state: State, submit: Submit, log: Logger) {
    this.#state = state;
    this.#submit = submit;
    this.#log = log;
  }

  /** Takes up those that were left by the last leader. */
  start(): void {
    for (const { metadata } of this.#state.list('namespaces')) {
      if (metadata.deletionTimestamp !== undefined) this.#sweep(metadata.name);
    }
  }

  /** Begins nothing more. */
  stop(): void {
    this.#stop.abort();
    for (const timer of this.#explaining.values()) clearTimeout(timer);
  }

  /** Looks at committed changes: a namespace that ends, or the last object of one. */
  committed(changes: readonly Change[]): void {
    const touched = new Set<string>();
    for (const change of changes) {
      if (change.resource === 'namespaces' && change.type === 'MODIFIED' && change.object.metadata['deletionTimestamp'] !== undefined) touched.add(change.name);
      else if (change.type === 'DELETED' && this.#terminating.has(change.namespace)) touched.add(change.namespace);
    }
    for (const name of touched) this.#sweep(name);
  }

  #sweep(name: string): void {
    this.#terminating.add(name);
    this.#again.add(name);
    if (this.#emptying.has(name)) return;
    this.#emptying.add(name);
    void this.#empty(name);
  }

  /** Ends when the namespace is gone, or when all that is left in it waits for finalizers: the last of them wakes it again. */
  async #empty(name: string): Promise<void> {
    const { signal } = this.#stop;
    // No await after the last look at `again`: a touch in between would be lost.
    while (!signal.aborted && this.#again.delete(name)) {
      for (let page = this.#page(name); page.length > 0; page = this.#page(name)) {
        const outcomes = await Promise.allSettled(page.map((write) => this.#submit(request(write))));
        if (signal.aborted) return;
        const refused = outcomes.find((outcome) => outcome.status === 'rejected');
        if (refused !== undefined) this.#log.warn({ namespace: name, err: refused.reason as Error }, 'clearing a deleted namespace');
        if (outcomes.every(({ status }) => status === 'rejected')) await pause(retryMs, signal);
        if (signal.aborted) return;
      }
    }
    this.#emptying.delete(name);
    if (this.#state.get('namespaces', undefined, name) === undefined) this.#terminating.delete(name);
    else this.#explainSoon(name);
  }

  /** Once for many changes: a namespace with many pods loses them one by one. */
  #explainSoon(name: string): void {
    if (this.#explaining.has(name) || this.#stop.signal.aborted) return;
    const timer = setTimeout(() => {
      this.#explaining.delete(name);
      void this.#explain(name);
    }, explainMs);
    timer.unref();
    this.#explaining.set(name, timer);
  }

  /** Writes into its status what is left in it. */
  async #explain(name: string): Promise<void> {
    const namespace = this.#state.get('namespaces', undefined, name);
    if (namespace === undefined) return;
    const status = (namespace.status ?? {}) as { conditions?: Condition[] };
    const conditions = conditionsOf([...this.#state.inNamespace(name)], status.conditions ?? [], Date.now());
    try {
      await this.#submit(request({ operation: 'updateStatus', resource: 'namespaces', namespace: undefined, name, object: { status: { ...status, conditions } } }));
    } catch (error) {
      // Gone meanwhile, or this intake no longer leads; the next one looks again.
      this.#log.debug({ namespace: name, err: error as Error }, 'telling what is left in a namespace');
    }
  }

  /** What can be deleted next: objects that are not being deleted already, then the namespace itself. */
  #page(name: string): Draft[] {
    const page: Draft[] = [];
    let empty = true;
    for (const { resource, object } of this.#state.inNamespace(name)) {
      empty = false;
      if (object.metadata.deletionTimestamp === undefined) page.push({ operation: 'delete', resource, namespace: name, name: object.metadata.name, propagationPolicy: 'Background' });
      if (page.length === pageSize) return page;
    }
    const { deletionTimestamp, finalizers = [] } = this.#state.get('namespaces', undefined, name)?.metadata ?? {};
    if (empty && deletionTimestamp !== undefined && finalizers.length === 0) page.push({ operation: 'delete', resource: 'namespaces', namespace: undefined, name });
    return page;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref();
    signal.addEventListener('abort', done, { once: true });
  });
