import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { addMember, nameProblem } from './members.ts';
import { joinRequestSchema, type JoinReply } from './messages.ts';
import { isGood } from './token.ts';
import type { Home } from '../home.ts';

export interface JoinServerOptions {
  readonly home: Home;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  /** PEM: certificate, its key, and the authority that a joining machine knows by its pin. */
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Names that are taken by this machine's own nodes. */
  readonly ownNodes: readonly string[];
  readonly reply: JoinReply;
  /** Lets the new keys into NATS; resolves when they are. */
  readonly admit: () => Promise<void>;
  readonly log: Logger;
}

const maxBodyBytes = 10_000;
/** More than ever join at once; whoever only opens connections must not use up the descriptors of the control plane. */
const maxConnections = 100;

/** Where other machines ask to join: `POST /join`, HTTPS, one token each. */
export class JoinServer {
  readonly #server: Server;
  readonly #options: JoinServerOptions;

  private constructor(options: JoinServerOptions) {
    this.#options = options;
    // The chain with its authority: a joining machine checks the authority against its pin.
    this.#server = createServer({ cert: `${options.cert}\n${options.ca}`, key: options.key, minVersion: 'TLSv1.2', requestTimeout: 10_000, handshakeTimeout: 10_000 }, (request, response) => void this.#answer(request, response));
    this.#server.maxConnections = maxConnections;
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
  }

  static async start(options: JoinServerOptions): Promise<JoinServer> {
    const joining = new JoinServer(options);
    await new Promise<void>((resolve, reject) => {
      joining.#server.once('error', reject).listen({ host: options.host, port: options.port }, () => resolve());
    });
    joining.#server.on('error', (error) => options.log.error({ err: error }, 'a connection of a machine that wants to join could not be taken'));
    return joining;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#judge(request).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a request to join could not be answered');
      return { status: 500, body: { message: 'the cluster could not take the machine in; its log says why' } };
    });
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(body));
  }

  async #judge(request: IncomingMessage): Promise<{ status: number; body: object }> {
    const { home, ownNodes, reply, admit, log } = this.#options;
    const refused = (status: number, message: string): { status: number; body: object } => {
      log.warn({ from: request.socket.remoteAddress, status, message }, 'a machine was not let in');
      return { status, body: { message } };
    };
    if (request.method !== 'POST' || request.url !== '/join') return refused(404, 'machines join by POST /join');
    const secret = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (secret === undefined || !isGood(home, secret)) return refused(401, 'the token is wrong or has expired; a new one: npx roundsman token, on the machine where the cluster was started');
    const text = await bodyOf(request);
    if (text === undefined) return refused(413, `the request is larger than ${maxBodyBytes} bytes`);
    const parsed = joinRequestSchema.safeParse(parseJson(text));
    if (!parsed.success) return refused(400, `${parsed.error.issues[0]?.path.join('.') || 'the request'}: ${parsed.error.issues[0]?.message ?? 'cannot be read'}`);
    const taken = nameProblem(home, parsed.data, ownNodes);
    if (taken !== undefined) return refused(409, taken);
    addMember(home, parsed.data);
    await admit();
    log.info({ node: parsed.data.node, from: request.socket.remoteAddress }, 'a machine has joined');
    return { status: 200, body: reply };
  }
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Left open, so that the refusal can be read.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
