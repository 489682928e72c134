import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

export type Request = IncomingMessage | Http2ServerRequest;
export type Response = ServerResponse | Http2ServerResponse;

/** An answer of the proxy itself: one sentence about what is wrong. Nothing when there is nobody to answer any more, or an answer has begun. */
export function answer(request: Request, response: Response, status: number, sentence: string, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent || isGone(response)) {
    response.destroy();
    return;
  }
  const body = `${sentence}\n`;
  (response as ServerResponse).writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': String(Buffer.byteLength(body)), ...headers, ...unreadBody(request) });
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}

/** How long a client may take to read why it was refused, milliseconds. */
const lingerMs = 2_000;

/** The same on a connection that wants to be upgraded; it ends, also when the client does not end its side. */
export function refuseUpgrade(socket: Duplex, status: number, sentence: string): void {
  if (socket.destroyed || !socket.writable) return;
  const late = setTimeout(() => socket.destroy(), lingerMs).unref();
  socket.resume().once('close', () => clearTimeout(late));
  const body = `${sentence}\n`;
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`);
}

/** A body that nobody reads is not waited for: the connection cannot carry another request. */
function unreadBody(request: Request): Record<string, string> {
  return request.httpVersionMajor > 1 || request.complete || !hasBody(request) ? {} : { connection: 'close' };
}

/** Of HTTP/2 the frames say it: a body needs no header there. */
export const hasBody = (request: Request): boolean =>
  'stream' in request ? !request.stream.endAfterHeaders : request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** Nobody is there any more to be answered. */
export const isGone = (response: Response): boolean => response.destroyed || ('stream' in response && response.stream.destroyed);
