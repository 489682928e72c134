import { ApiError, resourceKey, serviceUnavailable, type KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { Admitted, WriteRequest } from './admission/outcome.ts';
import type { State } from './state.ts';

/** Most writes in one transaction. */
export const largestBatch = 512;
/** Bytes of objects after which a batch is closed: a transaction must end well within its time. */
export const largestBatchBytes = 8 << 20;
/** Writes that may wait, and bytes of their objects; more are refused, so that callers back off instead of timing out. */
const longestQueue = 8_192;
export const largestQueueBytes = 64 << 20;

export interface WriteReply {
  readonly object: KubeObject;
  readonly warnings: string[];
}

/** A write on its way: answered once the batch it belongs to is committed. */
interface Entry {
  readonly write: WriteRequest;
  readonly judge: () => Admitted;
  /** Of the object in the request. */
  readonly bytes: number;
  readonly resolve: (reply: WriteReply) => void;
  readonly reject: (error: Error) => void;
}
interface Judged extends Entry {
  readonly outcome: Admitted | ApiError;
  /** What it leads to, in order; the last one is of the object that is answered. */
  readonly changes: readonly Change[];
}

export interface GroupCommitPorts {
  readonly admit: (write: WriteRequest) => Admitted;
  /** Commits in version order; rejects unless the commit is sure. */
  readonly commit: (changes: readonly Change[]) => Promise<void>;
  /** Committed changes, in order, before their writes are answered. */
  readonly committed: (changes: readonly Change[], tookMs: number) => void;
  /** A write was judged and, when it changes something, committed. */
  readonly settled: (write: WriteRequest, outcome: Admitted | ApiError, version: number | undefined) => void;
  /** A commit failed: nothing more is accepted. Its outcome is unknown; the state must be read again. */
  readonly failed: (error: Error) => void;
}

/**
 * Gathers writes into transactions. While one transaction is on its way the writes of the next are judged, against the state
 * that it will leave; so one disk flush is paid by many writes and versions have no gaps. Nothing is answered before the
 * transaction it depends on is committed, refusals included.
 */
export class GroupCommit {
  readonly #state: State;
  readonly #ports: GroupCommitPorts;
  #waiting: Entry[] = [];
  #waitingBytes = 0;
  #gathered: Judged[] = [];
  #gatheredBytes = 0;
  #inFlight: Promise<void> | undefined;
  #scheduled = false;
  #closed: string | undefined;

  constructor(state: State, ports: GroupCommitPorts) {
    this.#state = state;
    this.#ports = ports;
  }

  /** Resolves after the commit; rejects with the ApiError to answer. `judge`: by other rules than those for everybody. */
  submit(write: WriteRequest, judge = (): Admitted => this.#ports.admit(write)): Promise<WriteReply> {
    if (this.#closed !== undefined) return Promise.reject(serviceUnavailable(this.#closed));
    if (this.#waiting.length >= longestQueue) return Promise.reject(serviceUnavailable(`${longestQueue} writes are waiting; try again`));
    const bytes = sizeOf(write.object);
    if (this.#waitingBytes + bytes > largestQueueBytes) return Promise.reject(serviceUnavailable(`${largestQueueBytes >> 20} MB of writes are waiting; try again`));
    const { promise, resolve, reject } = Promise.withResolvers<WriteReply>();
    this.#waiting.push({ write, judge, bytes, resolve, reject });
    this.#waitingBytes += bytes;
    this.#wake();
    return promise;
  }

  /** Once per turn of the event loop: what arrived together is committed together. */
  #wake(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#gather();
      this.#send();
    });
  }

  #gather(): void {
    if (this.#closed !== undefined) return;
    let taken = 0;
    for (const entry of this.#waiting) {
      if (this.#gathered.length >= largestBatch || this.#gatheredBytes >= largestBatchBytes) break;
      taken += 1;
      this.#waitingBytes -= entry.bytes;
      const judged = this.#judge(entry);
      this.#gathered.push(judged);
      for (const { object } of judged.changes) this.#gatheredBytes += writesAll(entry.write) ? entry.bytes : sizeOf(object);
    }
    this.#waiting = this.#waiting.slice(taken);
  }

  #judge(entry: Entry): Judged {
    try {
      const outcome = entry.judge();
      const changes = [outcome.before, outcome].flatMap((one) => (one?.type === undefined ? [] : this.#changeOf(one, one.type)));
      return { ...entry, outcome, changes };
    } catch (error) {
      if (error instanceof ApiError) return { ...entry, outcome: error, changes: [] };
      // A fault of ours: this write gets it, the others of the batch must not.
      return { ...entry, outcome: new ApiError('InternalError', `the write could not be judged: ${(error as Error).message}`), changes: [] };
    }
  }

  #changeOf({ kind, object, namespace, name }: Admitted, type: Change['type']): Change {
    const resource = resourceKey(kind);
    const version = this.#state.admittedHead + 1;
    object.metadata = { ...object.metadata, resourceVersion: String(version) };
    const change: Change = {
      type,
      version,
      previous: version - 1,
      previousOfResource: this.#state.admittedOfResource(resource),
      resource,
      namespace,
      name,
      uid: object.metadata.uid,
      object: object as unknown as Change['object'],
    };
    this.#state.admit(change);
    return change;
  }

  #send(): void {
    if (this.#inFlight !== undefined || this.#gathered.length === 0 || this.#closed !== undefined) return;
    const batch = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#inFlight = this.#commit(batch).finally(() => {
      this.#inFlight = undefined;
      if (this.#closed !== undefined) return;
      this.#gather();
      this.#send();
    });
  }

  async #commit(batch: readonly Judged[]): Promise<void> {
    const changes = batch.flatMap((judged) => judged.changes);
    if (changes.length > 0) {
      const begun = performance.now();
      try {
        await this.#ports.commit(changes);
      } catch (error) {
        for (const { reject } of batch) reject(serviceUnavailable('the write may or may not have been stored: the database connection was lost meanwhile'));
        this.close('the database connection was lost');
        this.#ports.failed(error as Error);
        return;
      }
      this.#state.commit(changes);
      this.#ports.committed(changes, performance.now() - begun);
    }
    for (const { write, outcome, changes: own, resolve, reject } of batch) {
      if (outcome instanceof ApiError) reject(outcome);
      else resolve({ object: outcome.object, warnings: outcome.warnings });
      this.#ports.settled(write, outcome, own.at(-1)?.version);
    }
  }

  /** Accepts nothing more; what waits and is not on its way is refused. Resolves when what is on its way is settled. */
  close(why: string): Promise<void> {
    this.#closed ??= why;
    for (const { reject } of this.#gathered.splice(0)) reject(serviceUnavailable(why));
    for (const { reject } of this.#waiting.splice(0)) reject(serviceUnavailable(why));
    this.#gatheredBytes = 0;
    this.#waitingBytes = 0;
    return this.#inFlight ?? Promise.resolve();
  }
}

/** Characters of it as JSON; near enough to bytes. */
const sizeOf = (object: unknown): number => (object === undefined ? 0 : JSON.stringify(object).length);
/** Whether the request holds about all that is stored. A deletion stores the object once more, a status the rest of it. */
const writesAll = ({ operation }: WriteRequest): boolean => operation === 'create' || operation === 'update';
