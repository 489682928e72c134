import { hostname } from 'node:os';
import { AuthorizationError, connect, nkeyAuthenticator, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import { Unreachable } from './bus.ts';
import { encodeToken } from './subject.ts';
import { messageOf, silent } from './log.ts';
import type { BusLog } from './log.ts';

export interface ConnectOptions {
  /** `nats://127.0.0.1:4222`, one or more. */
  readonly servers: string | string[];
  /** Who connects: names the connection, its inbox and its rights. */
  readonly identity: string;
  /** nkey seed of the identity; left out where the server asks for none. */
  readonly seed?: string;
  /**
   * Of who has no nkey: the server asks whoever answers log-ins. The answer depends on what changes and on whether anybody is there to answer:
   * a refused log-in is told and tried again, for ever, also after the connection was there.
   */
  readonly login?: { readonly user: string; readonly password: string };
  /** PEM of the authority behind the server's certificate: the connection is TLS from its first byte, or it is not made. Absent: plain. */
  readonly ca?: string;
  readonly log?: BusLog;
  /** The connection is gone for good (the server no longer accepts this identity). Not called by `close`. */
  readonly onFatal?: (error: Error) => void;
}

const oldest = [2, 12] as const;
/** Bytes handed to the client since the server last answered; more than this means that it does not keep up. */
const unconfirmedLimit = 64 << 20;
const confirmEvery = 1 << 20;
const violationsKept = 20;
/** Refusals in a row after which a server is believed not to accept an nkey: one that reloads its configuration may refuse once. */
const believedRefusals = 2;

/** Every inbox of an identity starts here, so that nobody else may read its replies. */
export const inboxPrefixOf = (identity: string): string => `_INBOX_${encodeToken(identity)}`;

/** Whether the server does not know whoever asked. That it could not look in time says nothing: it is busy. */
const isRefusal = (error: unknown): error is Error => error instanceof AuthorizationError && !/timeout/i.test(error.message);

/** What is no address does not become one. */
const isNoAddress = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ERR_INVALID_URL';

/** One try to connect; a connection that was made comes again for as long as it lives. */
const connected = ({ servers, identity, ca, seed, login }: ConnectOptions): Promise<NatsConnection> =>
  connect({
    servers,
    name: `${identity}@${hostname()}/${process.pid}`,
    inboxPrefix: inboxPrefixOf(identity),
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 20_000,
    maxPingOut: 2,
    noAsyncTraces: true,
    // The client would give up at the second refusal of its life, and takes a log-in that the server was too busy for as one: who is refused for good is told here.
    ignoreAuthErrorAbort: true,
    // Handshake first: nobody between can talk us out of TLS. Without an authority plain, also where the server offers TLS.
    tls: ca === undefined ? null : { ca, handshakeFirst: true },
    ...(seed === undefined ? {} : { authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)) }),
    // The server waits for whoever answers log-ins longer than this: when it asked while nobody was there, it is asked anew soon.
    ...(login === undefined ? {} : { user: login.user, pass: login.password, timeout: 5_000 }),
  });

/** Resolves when the server is there and lets the identity in, however long it takes: why it does not is told once, and tried again. Rejects when it refuses an nkey, or there is no such address. */
async function letIn(options: ConnectOptions, log: BusLog): Promise<NatsConnection> {
  let told: string | undefined;
  let refusals = 0;
  for (;;) {
    try {
      return await connected(options);
    } catch (error) {
      refusals = isRefusal(error) ? refusals + 1 : 0;
      if (isNoAddress(error) || (options.login === undefined && refusals >= believedRefusals)) throw error;
      const why = messageOf(error);
      if (why !== told) log.warn({ identity: options.identity, servers: options.servers, error: why }, 'not connected to NATS yet');
      told = why;
    }
    await new Promise((resolve) => setTimeout(resolve, 250 + Math.random() * 250));
  }
}

/**
 * One NATS connection with what the client lacks: bounded buffering, violations as state, calls in flight that fail
 * at once when the connection breaks, and hooks for every reconnect.
 */
export class Connection {
  readonly violations: string[] = [];
  /** Core messages that were not sent because there was no connection, or a stalled one. */
  dropped = 0;
  #connected = true;
  #closing = false;
  #unconfirmed = 0;
  #confirming = false;
  /** In a row, since it was last connected. */
  #refusals = 0;
  #refusal: Error | undefined;
  readonly #waiting = new Set<() => void>();
  readonly #inFlight = new Set<{ subject: string; fail: (error: Error) => void }>();
  readonly #onReconnect = new Set<() => void>();
  readonly #onClose = new Set<() => Promise<void>>();
  /** Refusals are for good. */
  readonly #isRefusable: boolean;

  readonly js: JetStreamClient;

  private constructor(
    readonly nats: NatsConnection,
    readonly jsm: JetStreamManager,
    readonly identity: string,
    readonly log: BusLog,
    { login, onFatal }: Pick<ConnectOptions, 'login' | 'onFatal'>,
  ) {
    this.#isRefusable = login === undefined;
    this.js = jetstream(nats, { timeout: 5_000 });
    void this.#watch();
    void nats.closed().then((error) => {
      this.#lost('the connection is closed');
      if (this.#closing) return;
      const cause = this.#refusal ?? (error instanceof Error ? error : new Error('the NATS connection was closed'));
      log.error({ identity, error: cause.message }, 'NATS connection lost for good');
      onFatal?.(cause);
    });
  }

  /** Waits for the server as long as it takes; throws when it refuses the nkey of the identity or is too old. */
  static async open(options: ConnectOptions): Promise<Connection> {
    const { identity, log = silent } = options;
    const nats = await letIn(options, log).catch((error: unknown) => {
      throw new Error(`NATS at ${String(options.servers)} refused ${identity}: ${messageOf(error)}`, { cause: error });
    });
    const version = nats.info?.version ?? '0';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
      await nats.close();
      throw new Error(`NATS at ${nats.getServer()} is version ${version}; Roundsman needs ${oldest.join('.')} or later`);
    }
    const jsm = await jetstreamManager(nats, { checkAPI: false, timeout: 5_000 });
    return new Connection(nats, jsm, identity, log, options);
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** It will not come back: closed here, or refused by the server for good. */
  get over(): boolean {
    return this.#closing || this.nats.isClosed();
  }

  /** Runs after every reconnect, until the returned function is called. */
  onReconnect(run: () => void): () => void {
    this.#onReconnect.add(run);
    return () => this.#onReconnect.delete(run);
  }

  /** Runs, and is waited for, before the connection is drained; until the returned function is called. */
  onClose(run: () => Promise<void>): () => void {
    this.#onClose.add(run);
    return () => this.#onClose.delete(run);
  }

  /** Resolves when connected; Unreachable when it is not within the time. */
  async whenConnected(withinMs: number): Promise<void> {
    if (this.#connected) return;
    if (this.over) throw new Unreachable('the NATS connection is closed');
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(settle);
        reject(new Unreachable(`no connection to NATS for ${withinMs} ms`, { notSent: true }));
      }, withinMs);
      const settle = (): void => {
        clearTimeout(timer);
        if (this.#connected) resolve();
        else reject(new Unreachable('the NATS connection is closed'));
      };
      this.#waiting.add(settle);
    });
  }

  /** Whether this many bytes may be handed to the client now; counts them when they may. */
  admit(bytes: number): boolean {
    if (!this.#connected || this.#unconfirmed + bytes > unconfirmedLimit) return false;
    this.#unconfirmed += bytes;
    if (this.#unconfirmed >= confirmEvery && !this.#confirming) void this.#confirm();
    return true;
  }

  /** Runs a call that awaits an answer; it fails as soon as the connection breaks or the server forbids the subject. */
  async guarded<T>(subject: string, call: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const entry = { subject, fail: reject };
      this.#inFlight.add(entry);
      // Also when the client throws at once (a payload that is too large).
      const called = (async () => call())();
      called.then(resolve, reject).finally(() => this.#inFlight.delete(entry));
    });
  }

  /**
   * Resolves when the server knows of all subscriptions made so far, or when the connection breaks: the client makes them again
   * on reconnect, so they hold either way, and whoever made them must be given the means to end them. Rejects only when it is over.
   */
  async announced(): Promise<void> {
    if (!this.#connected) return;
    try {
      await this.guarded('', () => this.nats.flush());
    } catch (error) {
      if (this.over) throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    await Promise.allSettled([...this.#onClose].map((run) => run()));
    if (this.#connected) await this.nats.drain();
    else await this.nats.close();
  }

  async #confirm(): Promise<void> {
    this.#confirming = true;
    const sent = this.#unconfirmed;
    try {
      await this.nats.flush();
      this.#unconfirmed -= sent;
    } catch {
      // Disconnected: #lost has reset the count.
    }
    this.#confirming = false;
  }

  #lost(why: string): void {
    this.#connected = false;
    this.#unconfirmed = 0;
    const error = new Unreachable(`${why}; the outcome is unknown`);
    for (const { fail } of this.#inFlight) fail(error);
    this.#inFlight.clear();
    if (this.nats.isClosed()) this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const settle of waiting) settle();
  }

  async #watch(): Promise<void> {
    const { identity, log } = this;
    for await (const status of this.nats.status()) {
      switch (status.type) {
        case 'disconnect':
          log.warn({ identity, server: status.server }, 'NATS disconnected');
          this.#lost('the connection to NATS broke');
          break;
        case 'reconnect':
          this.#connected = true;
          this.#refusals = 0;
          log.info({ identity, server: status.server, dropped: this.dropped }, 'NATS reconnected');
          this.#wake();
          for (const run of this.#onReconnect) run();
          break;
        case 'error':
          this.#refused(status.error);
          break;
        case 'slowConsumer':
          log.warn({ identity, subject: status.sub.getSubject(), pending: status.pending }, 'slow consumer of a NATS subscription');
          break;
        default:
      }
    }
  }

  #refused(error: Error): void {
    this.log.error({ identity: this.identity, error: error.message }, 'NATS refused');
    if (this.#isRefusable && isRefusal(error) && (this.#refusals += 1) >= believedRefusals) {
      this.#refusal = error;
      void this.nats.close();
    }
    if (!(error instanceof PermissionViolationError)) return;
    const violation = `${error.operation === 'publish' ? 'publish to' : 'subscribe to'} ${error.subject}`;
    if (!this.violations.includes(violation) && this.violations.length < violationsKept) this.violations.push(violation);
    if (error.operation !== 'publish') return;
    for (const { subject, fail } of this.#inFlight) {
      if (subject === error.subject) fail(new Error(`${this.identity} may not publish to ${subject}`));
    }
  }
}
