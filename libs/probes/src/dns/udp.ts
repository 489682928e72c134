import { createSocket, type Socket } from 'node:dgram';
import { classify, type ProbeFailure } from '../errors.ts';
import type { Pinned } from '../resolve.ts';
import { answersQuestion, readReply } from './message.ts';
import type { Query, QueryCarrier, QueryOutcomes } from './query.ts';

/** One connected UDP socket: only the server's datagrams arrive, and a closed port shows as an error. */
export class UdpChannel implements QueryCarrier {
  readonly #socket: Socket;
  readonly #outcomes: QueryOutcomes;
  #waiting: Query[] | undefined = [];
  /** Why the socket could not be set up: nothing can be sent with it. */
  #broken: ProbeFailure | undefined;
  #closed = false;

  constructor(to: Pinned, outcomes: QueryOutcomes) {
    this.#outcomes = outcomes;
    this.#socket = createSocket({ type: to.family === 6 ? 'udp6' : 'udp4', recvBufferSize: 1 << 20 });
    this.#socket.on('message', (message) => this.#message(message));
    this.#socket.on('error', (error) => this.#error(error));
    this.#socket.connect(to.port, to.address, (error?: Error) => {
      if (this.#closed) return;
      if (error !== undefined) {
        this.#broken = classify(error, 'exchange');
        this.#error(error);
        return;
      }
      const waiting = this.#waiting ?? [];
      this.#waiting = undefined;
      for (const query of waiting) {
        // It may have expired, and its memory with it.
        if (query.carrier === this) this.#socket.send(query.message, query.onSent);
      }
    });
  }

  send(query: Query, now: number): void {
    query.carrier = this;
    query.sentAt = now;
    if (this.#broken !== undefined) this.#outcomes.failure(query, now, this.#broken.code, this.#broken.message);
    else if (this.#waiting === undefined) this.#socket.send(query.message, query.onSent);
    else this.#waiting.push(query);
  }

  forget(): boolean {
    return false;
  }

  /** A send may also bring the news that an earlier datagram was refused: then that is true of all. */
  unsendable(query: Query, error: NodeJS.ErrnoException): void {
    const { code, message } = classify(error, 'exchange');
    if (code === 'local') this.#outcomes.failure(query, performance.now(), code, message);
    else this.#error(error);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.close();
  }

  #message(message: Buffer): void {
    const reply = readReply(message);
    // Not a reply, or one that nobody waits for any more: the query it was meant for has timed out and was counted.
    const query = reply === undefined ? undefined : this.#outcomes.find(reply.id);
    if (query === undefined || query.carrier !== this || !answersQuestion(message, query.message)) return;
    this.#outcomes.reply(query, message, performance.now(), false);
  }

  /** The error names no query. It tells about the server's address or port, so it is true of all that were sent to it. */
  #error(error: NodeJS.ErrnoException): void {
    if (this.#closed) return;
    const now = performance.now();
    const { code, message } = classify(error, 'exchange');
    if (this.#waiting !== undefined) this.#waiting = [];
    for (const query of this.#outcomes.carriedBy(this)) this.#outcomes.failure(query, now, code, message);
  }
}
