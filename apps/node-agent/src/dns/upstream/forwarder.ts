import { LRUCache } from 'lru-cache';
import { rcodes } from '../wire/codes.ts';
import { exchange } from './exchange.ts';
import { questionKey, readReply, type Asked, type UpstreamReply } from './message.ts';
import { textOf, type Server } from './servers.ts';

export interface ForwarderOptions {
  /** Asked anew for each question: a machine's resolv.conf changes. */
  readonly servers: () => readonly Server[];
  /** Told once each time a server falls silent or leads back here. */
  readonly onProblem: (server: Server, problem: string) => void;
}

/** Of all servers together: stub resolvers ask again after 5 s. */
const totalMs = 4_500;
/** Of one server. */
const serverTimeoutMs = 1_500;
/** One that did not answer is asked after the others for so long. */
const avoidMs = 10_000;
/** Questions at the same time: what is more is answered SERVFAIL at once. */
const mostInFlight = 1_000;
const cached = 4_096;
/** Of all that are kept, and of the arrays beside one. */
const cachedBytes = 8 << 20;
const entryBytes = 512;
/** Upstream records may change sooner than they say: nothing is kept longer, seconds. */
const longestKept = 30;

export interface Kept {
  readonly reply: UpstreamReply;
  readonly ageSeconds: number;
}

/** Asks the upstream servers, one after the other, and keeps what they say for as long as it holds. The same asked twice at a time is asked once. */
export class Forwarder {
  readonly #options: ForwarderOptions;
  readonly #cache = new LRUCache<string, { readonly reply: UpstreamReply; readonly at: number }>({
    max: cached,
    maxSize: cachedBytes,
    sizeCalculation: ({ reply }) => reply.message.length + entryBytes + 16 * reply.ends.length,
  });
  readonly #underway = new Map<string, Promise<UpstreamReply | undefined>>();
  readonly #avoidedUntil = new Map<string, number>();
  /** Questions as they were sent, with their ids: one that comes in looking the same has come back to us. */
  readonly #sent = new Map<string, Server>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
  }

  /**
   * No answer within reason: undefined. No server to ask: `refused`, as a name server answers that does not recurse; NXDOMAIN would claim that the name does not exist,
   * which nobody here knows, and be remembered by whoever asked.
   */
  async resolve(asked: Asked): Promise<Kept | 'refused' | undefined> {
    const key = `${questionKey(asked.question)}${asked.dnssec ? 'd' : ''}${asked.checkingDisabled ? 'c' : ''}`;
    const known = this.#cache.get(key);
    if (known !== undefined) return { reply: known.reply, ageSeconds: Math.floor((performance.now() - known.at) / 1000) };
    let underway = this.#underway.get(key);
    if (underway === undefined) {
      const servers = this.#inOrder();
      if (servers.length === 0) return 'refused';
      if (this.#underway.size >= mostInFlight) return undefined;
      underway = this.#ask(servers, asked).finally(() => this.#underway.delete(key));
      this.#underway.set(key, underway);
      void underway.then((reply) => this.#keep(key, reply));
    }
    const reply = await underway;
    return reply === undefined ? undefined : { reply, ageSeconds: 0 };
  }

  /** Whether a query that came in is one of our own, sent to a server that leads back here. That server is left alone for a while. */
  isOwn(id: number, question: Buffer): boolean {
    if (this.#sent.size === 0) return false;
    const server = this.#sent.get(sentKey(id, question));
    if (server === undefined) return false;
    this.#avoid(server, 'it leads back to this very server (a loop)');
    return true;
  }

  #inOrder(): Server[] {
    const now = performance.now();
    const [good, avoided] = [[] as Server[], [] as Server[]];
    for (const server of this.#options.servers()) ((this.#avoidedUntil.get(textOf(server)) ?? 0) > now ? avoided : good).push(server);
    return [...good, ...avoided];
  }

  #keep(key: string, reply: UpstreamReply | undefined): void {
    const seconds = Math.min(reply?.ttl ?? 0, longestKept);
    if (reply !== undefined && seconds > 0) this.#cache.set(key, { reply, at: performance.now() }, { ttl: seconds * 1000 });
  }

  /** The first answer that says something; else the last one that says that it cannot. */
  async #ask(servers: readonly Server[], asked: Asked): Promise<UpstreamReply | undefined> {
    const deadline = performance.now() + totalMs;
    let unable: UpstreamReply | undefined;
    for (const server of servers) {
      const left = deadline - performance.now();
      if (left <= 0) break;
      try {
        const message = await exchange(server, asked, Math.min(left, serverTimeoutMs), (id) => this.#remember(id, asked.question, server));
        const reply = readReply(message, asked);
        if (reply === undefined) throw new Error(`${textOf(server)} answered what cannot be read`);
        if (reply.rcode === rcodes.NOERROR || reply.rcode === rcodes.NXDOMAIN) {
          this.#avoidedUntil.delete(textOf(server));
          return reply;
        }
        unable = reply;
      } catch (error) {
        this.#avoid(server, (error as Error).message);
      }
    }
    return unable;
  }

  #remember(id: number, question: Buffer, server: Server): () => void {
    const key = sentKey(id, question);
    this.#sent.set(key, server);
    return () => void this.#sent.delete(key);
  }

  #avoid(server: Server, problem: string): void {
    const key = textOf(server);
    const now = performance.now();
    if ((this.#avoidedUntil.get(key) ?? 0) <= now) this.#options.onProblem(server, problem);
    this.#avoidedUntil.set(key, now + avoidMs);
  }
}

const sentKey = (id: number, question: Buffer): string => `${id}/${questionKey(question)}`;
