import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { User } from './auth.ts';
import type { Query } from './query.ts';

/** A request to turn its connection into a stream. Nothing has been answered yet. */
export interface UpgradeRequest {
  readonly request: IncomingMessage;
  /** Kept open for both directions; the bytes after the request's head come first. */
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly parts: readonly string[];
  readonly path: string;
  readonly query: Query;
  readonly user: User;
}

/** Whether a request asks for what is streamed here: all others are answered as if they had not asked to be upgraded. */
export function asksForStream({ url = '', headers, method }: Pick<IncomingMessage, 'url' | 'headers' | 'method'>): boolean {
  const protocol = (headers.upgrade ?? '').toLowerCase();
  const [path = ''] = url.split('?');
  return (protocol === 'websocket' ? method === 'GET' : protocol === 'spdy/3.1') && /\/pods\/[^/]+\/(exec|attach|portforward)$/.test(path);
}

/** Answers on the bare connection and ends it. */
export function answerAndClose(socket: Duplex, status: number, reason: string, type: string, text: string, headers: Record<string, string> = {}): void {
  if (socket.destroyed || !socket.writable) return;
  const lines = Object.entries({ connection: 'close', 'content-type': type, 'content-length': String(Buffer.byteLength(text)), ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${text}`);
}
