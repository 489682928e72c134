import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { messageOf } from '../log.ts';
import type { Counters } from './counters.ts';

/** Longest wait and largest body that a request may ask for. */
const longestDelayMs = 60_000;
const largestBody = 16 << 20;
const supported = ['GET', 'PUT', 'POST', 'HEAD', 'PATCH', 'OPTIONS', 'DELETE'];
const paramDetail = {
  task: 'name under which the request is counted',
  delay: 'seconds before the answer',
  delayMs: 'milliseconds before the answer',
  status: 'status code of the answer',
  size: 'bytes of the answer, dots instead of this echo',
  chunked: '1: chunked transfer encoding',
};
const chunk = Buffer.alloc(16 << 10, 0x2e);

/** What a request asks for in its query; absent members mean the plain echo. */
interface Wish {
  task: string;
  delayMs: number;
  status: number;
  /** Bytes of a body of dots instead of the echo. */
  size?: number;
  chunked: boolean;
  params: Record<string, string>;
}

const plain: Wish = { task: '', delayMs: 0, status: 200, chunked: false, params: {} };

export interface EchoHttpOptions {
  readonly counters: Counters;
  /** Who answers, in every echo. */
  readonly serverName: string;
  /** PEM of the CA that signed the HTTPS certificate. */
  readonly caPem: () => Promise<string>;
  /** Why `/healthz` does not answer 200, in words. */
  readonly problem: () => string | undefined;
}

/**
 * Answers every method on every path with a JSON echo of the request; the fields are kdoctor's. Query: `task` names the
 * counter, `delay` seconds or `delayMs` before the answer, `status` its code, `size` bytes of dots as its body, `chunked=1`.
 * `DELETE ?task=` resets that counter, `/counters` lists them (DELETE resets all), `/ca.crt` is the CA of the HTTPS side, `/healthz` is 200 while
 * all of the echo target listens; none of these is counted.
 */
export function echoListener(options: EchoHttpOptions): RequestListener {
  const { counters, serverName, caPem, problem } = options;
  // A prober asks the same thing over and over.
  let lastQuery: string | undefined;
  let lastWish: Wish | string = plain;
  const wishOf = (query: string): Wish | string => {
    if (query !== lastQuery) {
      lastQuery = query;
      lastWish = readWish(query);
    }
    return lastWish;
  };
  return (request, response) => {
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const secure = 'encrypted' in request.socket;
    if (path === '/counters') {
      request.resume();
      if (request.method === 'DELETE') counters.reset();
      return send(response, 200, 'application/json', JSON.stringify(counters.list()));
    }
    if (path === '/healthz') {
      request.resume();
      const why = problem();
      return send(response, why === undefined ? 200 : 503, 'text/plain', `${why ?? 'ok'}\n`);
    }
    if (path === '/ca.crt') {
      request.resume();
      return void caPem().then(
        (pem) => send(response, 200, 'application/x-pem-file', pem),
        (error: unknown) => send(response, 500, 'application/json', JSON.stringify({ error: messageOf(error) })),
      );
    }
    const wish = mark < 0 ? plain : wishOf(url.slice(mark + 1));
    if (typeof wish === 'string') {
      request.resume();
      return send(response, 400, 'application/json', JSON.stringify({ error: wish }));
    }
    let requestCount: number;
    if (request.method === 'DELETE' && 'task' in wish.params) {
      counters.reset(wish.task);
      requestCount = 0;
    } else {
      requestCount = counters.count(wish.task, secure ? 'https' : 'http');
    }
    // Nobody waits for a body that is not there; what is there is read and counted, never kept.
    if (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined) {
      answer(request, response, wish, serverName, requestCount, 0);
      return;
    }
    let bytes = 0;
    request.on('data', (data: Buffer) => (bytes += data.length));
    request.on('end', () => answer(request, response, wish, serverName, requestCount, bytes));
  };
}

/** A plain HTTP server for `listener`; not listening yet. */
export function echoServer(listener: RequestListener): Server {
  const server = createServer({ keepAliveTimeout: 180_000, requestTimeout: 30_000, headersTimeout: 30_000, connectionsCheckingInterval: 30_000 }, listener);
  // A prober may keep a connection as long as its task runs.
  server.maxRequestsPerSocket = 0;
  return server;
}

function answer(request: IncomingMessage, response: ServerResponse, wish: Wish, serverName: string, requestCount: number, bodyBytes: number): void {
  const respond = (): void => {
    if (wish.size !== undefined) return sendDots(response, wish);
    const echo = JSON.stringify({
      serverName,
      clientIp: request.socket.remoteAddress,
      requestUrl: request.url,
      requestMethod: request.method,
      requestProtocol: `HTTP/${request.httpVersion}`,
      requestHeader: request.headers,
      requestBodyBytes: bodyBytes,
      requestCount,
      TaskName: wish.task,
      requestParam: wish.params,
      supportedMethod: supported,
      paramDetail,
    });
    if (!wish.chunked) return send(response, wish.status, 'application/json', echo);
    response.writeHead(wish.status, { 'content-type': 'application/json' });
    response.write(echo.slice(0, echo.length >> 1));
    response.end(echo.slice(echo.length >> 1));
  };
  if (wish.delayMs === 0) return respond();
  const timer = setTimeout(respond, wish.delayMs);
  response.on('close', () => clearTimeout(timer));
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  const bodiless = status < 200 || status === 204 || status === 304;
  if (bodiless) response.writeHead(status).end();
  else response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}

function sendDots(response: ServerResponse, wish: Wish): void {
  let left = wish.size ?? 0;
  response.writeHead(wish.status, { 'content-type': 'text/plain', ...(wish.chunked ? {} : { 'content-length': left }) });
  const more = (): void => {
    while (left > 0) {
      const part = left >= chunk.length ? chunk : chunk.subarray(0, left);
      left -= part.length;
      if (!response.write(part)) {
        response.once('drain', more);
        return;
      }
    }
    response.end();
  };
  more();
}

/** The wish of a query, or what is wrong with it. */
function readWish(query: string): Wish | string {
  const params: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, value] of new URLSearchParams(query)) params[key] = value;
  const whole = (key: string, least: number, most: number): number | undefined | string => {
    const text = params[key];
    if (text === undefined) return undefined;
    const value = Number(text);
    return /^\d+$/.test(text) && value >= least && value <= most ? value : `${key} must be a whole number from ${least} to ${most}`;
  };
  const seconds = whole('delay', 0, longestDelayMs / 1000);
  const ms = whole('delayMs', 0, longestDelayMs);
  const status = whole('status', 200, 599);
  const size = whole('size', 0, largestBody);
  for (const value of [seconds, ms, status, size]) if (typeof value === 'string') return value;
  return {
    task: params['task'] ?? '',
    delayMs: Math.min(longestDelayMs, Number(seconds ?? 0) * 1000 + Number(ms ?? 0)),
    status: Number(status ?? 200),
    ...(size === undefined ? {} : { size: Number(size) }),
    chunked: params['chunked'] === '1',
    params,
  };
}
