import type { TLSSocket } from 'node:tls';
import { hasBody, type Request } from './answers.ts';

/** What belongs to one connection and not to the message (RFC 9110, 7.6.1). The framing of a body stays: it is the library's business. */
const ofConnection = ['keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer', 'upgrade', 'expect', 'http2-settings'];
const framing = new Set(['transfer-encoding', 'content-length', 'host', 'close', 'keep-alive']);

/** What the proxy alone says of the client. Many endpoints cannot tell `_` from `-` in a name (CGI). */
const ofProxy = /^(?:x[-_]forwarded[-_].*|x[-_]real[-_]ip|forwarded)$/;

type Headers = Record<string, string | string[] | undefined>;

/** Takes off what belongs to the connection, also what its Connection header names. */
function strip(headers: Headers): void {
  for (const name of String(headers['connection'] ?? '').split(',')) {
    const named = name.trim().toLowerCase();
    if (named !== '' && !framing.has(named)) delete headers[named];
  }
  for (const name of ofConnection) delete headers[name];
}

/** What a client says of itself under the proxy's names is not believed. */
function distrust(headers: Headers): void {
  for (const name of Object.keys(headers)) if (ofProxy.test(name)) delete headers[name];
}

/** Makes a request's headers those of the message alone. `connection` then says what becomes of the client's connection after the answer: `close` when it asked for that, or the proxy is about to end. */
export function takeRequestHeaders(request: Request, draining: boolean): void {
  const headers = request.headers as Headers;
  const closes = draining || /(^|,)\s*close\s*(,|$)/i.test(String(headers['connection'] ?? ''));
  strip(headers);
  distrust(headers);
  if (request.httpVersionMajor > 1) {
    delete headers['connection'];
    // Its frames are not passed on. Without a length the endpoint would take the body for the next request on the connection, and answer that to somebody else.
    if (hasBody(request) && headers['content-length'] === undefined) headers['transfer-encoding'] = 'chunked';
  } else if (closes) headers['connection'] = 'close';
  else if (request.httpVersion === '1.1') headers['connection'] = 'keep-alive';
}

/** The same of a request to become a WebSocket. */
export function takeUpgradeHeaders({ headers }: Request): void {
  const { upgrade } = headers;
  strip(headers as Headers);
  distrust(headers as Headers);
  Object.assign(headers, { connection: 'Upgrade', upgrade });
}

/** An endpoint's headers, without what it says about the connection to it. */
export function takeResponseHeaders(headers: Headers): void {
  strip(headers);
  delete headers['connection'];
}

export const isEncrypted = (request: Request): boolean => (request.socket as TLSSocket).encrypted === true;

export const hostHeader = (request: Request): string | undefined => (request.headers[':authority'] as string | undefined) ?? request.headers.host;

/** What an endpoint is told of the client. */
export function forwardedHeaders(request: Request, strippedPrefix: string): Record<string, string> {
  const host = hostHeader(request) ?? '';
  const encrypted = isEncrypted(request);
  const client = (request.socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/, '');
  return {
    'x-forwarded-for': client,
    'x-real-ip': client,
    'x-forwarded-host': host,
    'x-forwarded-port': /:(\d+)$/.exec(host)?.[1] ?? (encrypted ? '443' : '80'),
    'x-forwarded-proto': encrypted ? 'https' : 'http',
    ...(strippedPrefix === '' ? {} : { 'x-forwarded-prefix': strippedPrefix }),
  };
}
