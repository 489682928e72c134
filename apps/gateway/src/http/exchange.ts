import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { stringify } from 'yaml';
import type { User } from './auth.ts';
import { readBody, type Body } from './body.ts';
import { negotiate, type Accepted } from './negotiate.ts';
import { Query } from './query.ts';

/** One request, read as far as everybody needs it. */
export class Exchange {
  readonly method: string;
  /** Path segments, decoded. */
  readonly parts: readonly string[];
  readonly path: string;
  readonly query: Query;
  readonly headers: IncomingHttpHeaders;
  readonly user: User;
  readonly bytes: Buffer;
  /** For streams, which write to it themselves. */
  readonly response: ServerResponse;
  /** For metrics: `list netreaches`; few, whatever is asked for. */
  label = 'other';

  constructor(init: Pick<Exchange, 'method' | 'parts' | 'path' | 'query' | 'headers' | 'user' | 'bytes' | 'response'>) {
    this.method = init.method;
    this.parts = init.parts;
    this.path = init.path;
    this.query = init.query;
    this.headers = init.headers;
    this.user = init.user;
    this.bytes = init.bytes;
    this.response = init.response;
  }

  accepted(): Accepted {
    return negotiate(this.headers.accept);
  }

  body(): Promise<Body> {
    return readBody(this.bytes, this.headers['content-type']);
  }
}

/** What to answer: an object, or text of the type given. A stream has taken the response over. */
export type Answer = { readonly status: number; readonly body: unknown; readonly type?: string; readonly warnings?: readonly string[]; readonly headers?: Record<string, string> } | 'streamed';

export const ok = (body: unknown): Answer => ({ status: 200, body });

/** The text of an answer in the form asked for. */
export function rendered(body: unknown, format: Accepted['format'], pretty: boolean): { type: string; text: string } {
  if (format === 'yaml') return { type: 'application/yaml', text: stringify(body, { aliasDuplicateObjects: false }) };
  return { type: 'application/json', text: pretty ? `${JSON.stringify(body, undefined, 2)}\n` : JSON.stringify(body) };
}

/** RFC 7234 warning as Kubernetes sends them; kubectl prints the text. */
export const warningHeader = (text: string): string => `299 - "${text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/["\\]/g, '\\$&').slice(0, 1000)}"`;
