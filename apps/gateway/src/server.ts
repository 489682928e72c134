import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError, badRequest } from '@roundsman/api';
import type { Health } from '@roundsman/service';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { Histogram, type Registry } from 'prom-client';
import type { Authenticate, User } from './http/auth.ts';
import type { ServerCertificate } from './http/certificate.ts';
import { Exchange, rendered, warningHeader, type Answer } from './http/exchange.ts';
import { impersonated } from './http/impersonation.ts';
import { Listener } from './http/listener.ts';
import { segments } from './http/path.ts';
import { Query } from './http/query.ts';
import { refusalOf } from './http/status.ts';
import { answerAndClose, asksForStream, type UpgradeRequest } from './http/upgrade.ts';
import { MethodNotAllowed, notServed } from './resources/handler.ts';

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly certificate: ServerCertificate | undefined;
  readonly authenticate: Authenticate;
  readonly answer: (exchange: Exchange) => Promise<Answer>;
  /** Takes a connection over until it ends; rejects when it refuses. */
  readonly upgrade: (upgrade: UpgradeRequest) => Promise<void>;
  readonly health: Health;
  readonly metrics: Registry;
  readonly log: Logger;
}

/** As Kubernetes takes them. */
export const maxBodyBytes = 3 << 20;
/** The command of an exec stands in the URL. */
const maxHeaderBytes = 64 << 10;
const knownMethods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']);
const openPaths = new Set(['healthz', 'livez', 'readyz']);

/** The HTTP side: one listener, one handler for every path (paths are data here), errors as Status objects. HTTP/1.1. */
export class GatewayServer {
  readonly #options: ServerOptions;
  readonly #app: FastifyInstance;
  #listener: Listener | undefined;
  readonly #durations: Histogram<'method' | 'route' | 'code'>;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#durations = new Histogram({
      name: 'roundsman_gateway_http_request_duration_seconds',
      help: 'Time from the first byte of a request to the last of its answer; watches and live streams until they end',
      labelNames: ['method', 'route', 'code'],
      buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 60, 600],
      registers: [options.metrics],
    });
    this.#app = fastify({
      bodyLimit: maxBodyBytes,
      // Parsed here, with its own errors; the router only sees one path.
      rewriteUrl: () => '/',
      serverFactory: (handler) => {
        const limits = { maxHeaderSize: maxHeaderBytes, keepAliveTimeout: 75_000, requestTimeout: 60_000, shouldUpgradeCallback: asksForStream };
        this.#listener = new Listener({ request: handler, upgrade: (request, socket, head) => void this.#upgrade(request, socket, head), clientError: refuseBytes }, limits, options.certificate);
        return this.#listener.plain;
      },
    });
    this.#app.removeAllContentTypeParsers();
    this.#app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    const handle = (request: FastifyRequest, reply: FastifyReply): Promise<void> => this.#handle(request, reply);
    this.#app.setNotFoundHandler(handle);
    this.#app.setErrorHandler((error, request, reply) => this.#refuse(sentTooMuch(error), request.raw.method ?? '', reply));
    this.#app.all('/', handle);
    // Every path is rewritten to /, so its own original is asked for.
    this.#app.addHook('onRequest', (request, reply, done) => {
      const { authenticate } = options;
      try {
        const { parts } = pathOf(request.originalUrl);
        if (!openPaths.has(parts[0] ?? '')) authenticate(request.headers.authorization);
        // Methods that nothing here answers are refused before their bodies matter.
        if (knownMethods.has(request.method)) done();
        else void handle(request, reply);
      } catch (error) {
        done(error as Error);
      }
    });
  }

  /** The port it listens on. Rejects when the address is taken. */
  async listen(): Promise<number> {
    const { host, port } = this.#options;
    await this.#app.ready();
    const { server } = this.#listener as Listener;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen({ host, port }, () => {
        server.off('error', reject);
        resolve();
      });
    });
    return (server.address() as AddressInfo).port;
  }

  /** Refuses new connections, ends the open ones. */
  async close(): Promise<void> {
    const listener = this.#listener as Listener;
    if (listener.server.listening) {
      const closed = new Promise((resolve) => listener.server.close(resolve));
      listener.closeAll();
      await closed;
    }
    await this.#app.close();
  }

  async #handle(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const begun = performance.now();
    const { method } = request;
    let exchange: Exchange | undefined;
    reply.raw.once('close', () => {
      const known = knownMethods.has(method) ? method : 'other';
      this.#durations.observe({ method: known, route: exchange?.label ?? 'other', code: String(reply.raw.statusCode) }, (performance.now() - begun) / 1000);
    });
    try {
      const { parts, path, query } = pathOf(request.originalUrl);
      if (openPaths.has(parts[0] ?? '')) return this.#health(parts, path, method, reply);
      const user = this.#userOf(request.raw);
      if (parts.length === 1 && parts[0] === 'metrics') return await this.#metrics(method, reply);
      exchange = new Exchange({ method, parts, path, query: new Query(query), headers: request.headers, user, bytes: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0), response: reply.raw });
      const pretty = exchange.query.flag('pretty');
      const answer = await this.#options.answer(exchange);
      if (answer === 'streamed') {
        reply.hijack();
        return;
      }
      const { format } = answer.type === undefined ? exchange.accepted() : { format: 'json' as const };
      const { type, text } = typeof answer.body === 'string' ? { type: 'text/plain', text: answer.body } : rendered(answer.body, format, pretty);
      const warnings = (answer.warnings ?? []).map(warningHeader);
      if (warnings.length > 0) reply.header('warning', warnings);
      send(reply, answer.status, answer.type ?? type, text, method, answer.headers);
    } catch (error) {
      this.#refuse(error, method, reply);
    }
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const begun = performance.now();
    const { method = '', url = '' } = request;
    let code = 101;
    // An error of the connection ends it; whoever holds it sees that.
    socket.on('error', () => undefined);
    try {
      const { parts, path, query } = pathOf(url);
      const user = this.#userOf(request);
      await this.#options.upgrade({ request, socket, head, parts, path, query: new Query(query), user });
    } catch (error) {
      const { status, headers, unexpected } = refusalOf(error);
      if (unexpected) this.#options.log.error({ err: error, method, url: url.slice(0, 500) }, 'stream failed');
      code = status.code;
      answerAndClose(socket, code, STATUS_CODES[code] ?? '', 'application/json', JSON.stringify(status), headers);
    }
    this.#durations.observe({ method, route: `connect pods/${url.split('?')[0]?.split('/').at(-1) ?? ''}`, code: String(code) }, (performance.now() - begun) / 1000);
  }

  /** As whom the request is made. Throws a 401 or 403. */
  #userOf(request: IncomingMessage): User {
    return impersonated(this.#options.authenticate(request.headers.authorization), request);
  }

  #refuse(error: unknown, method: string, reply: FastifyReply): void {
    const { status, headers, unexpected } = refusalOf(error);
    if (unexpected) this.#options.log.error({ err: error, method, url: reply.request.originalUrl.slice(0, 500) }, 'request failed');
    if (reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    if (error instanceof MethodNotAllowed) reply.header('allow', error.allow.join(', '));
    // kubectl without a token asks for a password when told of a scheme it knows.
    if (status.code === 401) reply.header('www-authenticate', 'Bearer realm="roundsman"');
    send(reply, status.code, 'application/json', JSON.stringify(status), method, headers);
  }

  #health(parts: readonly string[], path: string, method: string, reply: FastifyReply): void {
    if (method !== 'GET' && method !== 'HEAD') throw new MethodNotAllowed(method, undefined, ['GET']);
    if (parts[0] !== 'readyz') {
      if (parts.length > 1) throw notServed(path);
      send(reply, 200, 'text/plain; charset=utf-8', 'ok', method);
      return;
    }
    const report = this.#options.health.report(parts[1]);
    if (parts.length > 2 || (parts[1] !== undefined && report.checks.length === 0)) throw notServed(path);
    send(reply, report.ready ? 200 : 503, 'application/json', JSON.stringify(report), method);
  }

  async #metrics(method: string, reply: FastifyReply): Promise<void> {
    if (method !== 'GET' && method !== 'HEAD') throw new MethodNotAllowed(method, undefined, ['GET']);
    const { metrics } = this.#options;
    send(reply, 200, metrics.contentType, await metrics.metrics(), method);
  }
}

/** What is no HTTP at all still gets an answer that says so. */
function refuseBytes(error: Error, socket: Socket): void {
  const huge = (error as { code?: string }).code === 'HPE_HEADER_OVERFLOW';
  const message = huge ? `the headers of the request are larger than ${maxHeaderBytes} bytes` : `not an HTTP/1.1 request: ${error.message}`;
  answerAndClose(socket, 400, 'Bad Request', 'application/json', JSON.stringify(badRequest(message).status));
}

/** The path as it was asked for. Refuses what no name can hold. */
function pathOf(url: string): { parts: string[]; path: string; query: URLSearchParams } {
  const [path = '', query = ''] = splitOnce(url, '?');
  const parts = segments(path);
  const params = new URLSearchParams(query);
  if (parts.some((part) => part.includes('\0')) || [...params].some(([key, value]) => key.includes('\0') || value.includes('\0'))) throw badRequest('the URL holds a NUL character');
  return { parts, path, query: params };
}

function splitOnce(text: string, by: string): [string, string] {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

function sentTooMuch(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new ApiError('RequestEntityTooLarge', `the body is larger than ${maxBodyBytes} bytes, which is the limit`);
  if (typeof code === 'string' && code.startsWith('FST_ERR_CTP')) return badRequest((error as Error).message);
  return error;
}

/** Written past Fastify: it would add to the content type and serialize again. */
function send(reply: FastifyReply, status: number, type: string, text: string, method: string, headers: Record<string, string> = {}): void {
  reply.hijack();
  const response: ServerResponse = reply.raw;
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...headers })) if (value !== undefined) response.setHeader(name, value);
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text), 'cache-control': 'no-cache, private', 'x-content-type-options': 'nosniff' });
  response.end(method === 'HEAD' ? undefined : text);
}
