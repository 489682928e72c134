import type { Pipe, PipeEnding, PipeItem, PipeOutcome } from '../pipe.ts';
import { costOf, Credit } from './credit.ts';
import { channelLimit, decodeFrame, encodeFrame, maxFramePayload, sequenceLimit } from './frame.ts';
import type { Frame } from './frame.ts';
import { Inbox } from './inbox.ts';

/** What a pipe goes over. Frames arrive in the order they were sent, or not at all. */
export interface Link {
  send(frame: Uint8Array): void;
  /** Resolves when the connection takes this many bytes more; undefined: at once. Rejects when it is lost. */
  room(bytes: number): Promise<void> | undefined;
}

/** A side says that it is there this often while it has nothing else to say, and takes the other for gone after three of these without a word. */
export const keepAliveMs = 5_000;
const silentLimit = 3;

type Unsent<F = Frame> = F extends unknown ? Omit<F, 'sequence'> : never;

/** One end of a pipe: numbering, credit, keep-alive and ending, over any link. */
export class PipeEnd implements Pipe {
  readonly incoming: AsyncIterable<PipeItem>;
  readonly closed: Promise<PipeEnding>;
  readonly #link: Link;
  readonly #inbox: Inbox;
  readonly #credit = new Credit();
  readonly #endedHere = new Set<number>();
  readonly #endedThere = new Set<number>();
  readonly #ticker: NodeJS.Timeout;
  #settle!: (ending: PipeEnding) => void;
  #over: Error | undefined;
  /** Writes, ends and the close, one after another. */
  #turn: Promise<void> = Promise.resolve();
  #sent = 0;
  #received = 0;
  #spoke = false;
  #heard = false;
  #silent = 0;

  constructor(
    readonly session: string,
    link: Link,
    options: { keepAliveMs?: number } = {},
  ) {
    this.#link = link;
    this.#inbox = new Inbox((granted) => this.#send({ kind: 'credit', granted }));
    this.incoming = this.#inbox;
    this.closed = new Promise((resolve) => (this.#settle = resolve));
    this.#ticker = setInterval(() => this.#tick(), options.keepAliveMs ?? keepAliveMs);
    this.#ticker.unref();
  }

  write(channel: number, bytes: Uint8Array): Promise<void> {
    checkChannel(channel);
    if (this.#endedHere.has(channel)) return Promise.reject(new Error(`channel ${channel} has been ended`));
    return this.#inTurn(async () => {
      for (let at = 0; at < bytes.length; at += maxFramePayload) {
        const piece = bytes.subarray(at, at + maxFramePayload);
        await this.#credit.take(costOf(piece.length));
        await this.#link.room(piece.length);
        if (this.#over) throw this.#over;
        this.#send({ kind: 'data', channel, bytes: piece });
      }
    });
  }

  end(channel: number): Promise<void> {
    checkChannel(channel);
    if (this.#endedHere.has(channel)) return this.#turn;
    this.#endedHere.add(channel);
    return this.#inTurn(async () => {
      await this.#credit.take(costOf(0));
      this.#send({ kind: 'end', channel });
    });
  }

  async close(outcome: PipeOutcome = {}): Promise<void> {
    await this.#inTurn(() => {
      this.#send({ kind: 'close', ending: outcome });
      this.#finish(outcome, { error: new Error('the pipe is closed'), drop: true });
    }).catch(() => undefined);
  }

  abort(reason: string): void {
    if (this.#over) return;
    this.#send({ kind: 'close', ending: { error: reason } });
    this.#finish({ error: reason }, { error: new Error(reason), drop: true });
  }

  /** It has ended, from whichever side. */
  get over(): boolean {
    return this.#over !== undefined;
  }

  /** The other side, or the way to it, is lost. It is told, in case it still listens. */
  break(reason: string): void {
    if (this.#over) return;
    this.#send({ kind: 'close', ending: { broken: reason } });
    this.#finish({ broken: reason }, { error: new Error(reason), throws: true });
  }

  /** A frame from the other side. */
  receive(message: Uint8Array): void {
    if (this.#over) return;
    this.#heard = true;
    let frame: Frame;
    try {
      frame = decodeFrame(message);
    } catch (error) {
      this.break(`the stream is damaged: ${error instanceof Error ? error.message : String(error)}`);
      return;
    }
    if (frame.sequence !== this.#received) {
      this.break(`frames of the stream were lost (${this.#received} was expected, ${frame.sequence} came)`);
      return;
    }
    this.#received = (this.#received + 1) % sequenceLimit;
    this.#take(frame);
  }

  #take(frame: Frame): void {
    switch (frame.kind) {
      case 'data':
      case 'end': {
        const { channel } = frame;
        if (this.#endedThere.has(channel)) return this.break(`the stream is damaged: more came on channel ${channel}, which had ended`);
        if (frame.kind === 'end') this.#endedThere.add(channel);
        const item = frame.kind === 'end' ? { channel, end: true as const } : { channel, bytes: frame.bytes };
        if (!this.#inbox.add(item)) this.break('the other side sent more than it was granted');
        return;
      }
      case 'credit':
        return this.#credit.grant(frame.granted);
      case 'alive':
        return;
      case 'close': {
        const { broken, error } = frame.ending;
        return this.#finish(frame.ending, { error: new Error(broken ?? error ?? 'the pipe was closed by the other side'), throws: broken !== undefined });
      }
    }
  }

  #send(frame: Unsent): void {
    if (this.#over) return;
    this.#spoke = true;
    this.#link.send(encodeFrame({ ...frame, sequence: this.#sent } as Frame));
    this.#sent = (this.#sent + 1) % sequenceLimit;
  }

  /** After what was asked for before. Rejects when the pipe ends first. */
  #inTurn(run: () => Promise<void> | void): Promise<void> {
    const mine = this.#turn.then(() => {
      if (this.#over) throw this.#over;
      return run();
    });
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  #finish(ending: PipeEnding, { error, throws, drop }: { error: Error; throws?: boolean; drop?: boolean }): void {
    this.#over = error;
    clearInterval(this.#ticker);
    this.#credit.end(error);
    this.#inbox.end({ ...(throws === true ? { error } : {}), ...(drop === true ? { drop } : {}) });
    this.#settle(ending);
  }

  /** Counts ticks, not time: a process that was stopped for a minute first hears what came meanwhile. */
  #tick(): void {
    this.#silent = this.#heard ? 0 : this.#silent + 1;
    this.#heard = false;
    if (this.#silent >= silentLimit) return this.break('nothing was heard from the other side any more');
    if (!this.#spoke) this.#send({ kind: 'alive' });
    this.#spoke = false;
  }
}

function checkChannel(channel: number): void {
  if (!Number.isInteger(channel) || channel < 0 || channel >= channelLimit) throw new RangeError(`${channel} is no channel: 0 to ${channelLimit - 1}`);
}
