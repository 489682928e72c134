import type { Pipe } from '@roundsman/bus';
import type { SpdyStream } from '../spdy/session.ts';

/** Milliseconds that one stream of a connection waits for the other. */
const pairMs = 30_000;

/** Opens a connection to a port of the pod. */
export type Connect = (port: number) => Promise<Pipe>;

/**
 * The streams of one port-forward session: every connection of its client is a pair of one request id, `error` and `data`, to one port. What
 * goes wrong with one is written to its error stream.
 */
export class PortForward {
  readonly #connect: Connect;
  readonly #about: string;
  readonly #waiting = new Map<string, { stream: SpdyStream; timer: NodeJS.Timeout }>();
  readonly #open = new Set<Pipe>();
  #over = false;

  /** `about`: `pod NAME, uid UID`, for error texts. */
  constructor(connect: Connect, about: string) {
    this.#connect = connect;
    this.#about = about;
  }

  add(stream: SpdyStream): void {
    const { headers } = stream;
    const type = headers.get('streamtype');
    const port = Number(headers.get('port'));
    const request = headers.get('requestid') ?? '';
    if ((type !== 'error' && type !== 'data') || request === '' || !Number.isInteger(port) || port < 1 || port > 65_535) {
      void stream.reset();
      return;
    }
    const key = `${request}/${type}`;
    const other = this.#waiting.get(`${request}/${type === 'error' ? 'data' : 'error'}`);
    if (other === undefined) {
      this.#waiting.set(key, { stream, timer: setTimeout(() => this.#giveUp(key), pairMs) });
      return;
    }
    clearTimeout(other.timer);
    this.#waiting.delete(`${request}/${type === 'error' ? 'data' : 'error'}`);
    void this.#forward(port, type === 'data' ? stream : other.stream, type === 'data' ? other.stream : stream);
  }

  end(): void {
    this.#over = true;
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
    for (const pipe of this.#open) pipe.abort('the client went away');
  }

  async #forward(port: number, data: SpdyStream, error: SpdyStream): Promise<void> {
    let failure: string | undefined;
    let givenUp = false;
    void data.gone.then(() => (givenUp = true));
    try {
      const pipe = await this.#connect(port);
      this.#open.add(pipe);
      if (this.#over) pipe.abort('the client went away');
      failure = await carry(pipe, data);
      this.#open.delete(pipe);
    } catch (thrown) {
      failure = thrown instanceof Error ? thrown.message : String(thrown);
    }
    // Whoever reads an error here ends the whole session: a client that went away is none.
    if (failure !== undefined && !givenUp) await error.write(Buffer.from(`error forwarding port ${port} to ${this.#about}: ${failure}`));
    await Promise.all([error.end(), data.end()]);
  }

  #giveUp(key: string): void {
    const waiting = this.#waiting.get(key);
    this.#waiting.delete(key);
    void waiting?.stream.reset();
  }
}

/** Both ways until both are done, or the client gives it up: it may, once it has what it wanted. What went wrong, if anything did. */
async function carry(pipe: Pipe, data: SpdyStream): Promise<string | undefined> {
  void data.gone.then(() => pipe.abort('the client went away'));
  const up = (async () => {
    for await (const bytes of data.incoming) await pipe.write(0, bytes);
    await pipe.end(0);
  })().catch(() => undefined);
  try {
    for await (const item of pipe.incoming) {
      if ('bytes' in item) await data.write(item.bytes);
      else {
        await data.end();
        // Nothing is left to be said either way, whether or not the agent sees that too.
        void up.then(() => pipe.close());
      }
    }
  } catch {
    // The pipe broke; its ending says so.
  }
  const { error, broken } = await pipe.closed;
  data.incoming.drop();
  await up;
  return broken === undefined ? error : `the stream to the node broke: ${broken}`;
}
