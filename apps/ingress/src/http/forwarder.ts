import type { ClientRequest, ServerResponse } from 'node:http';
import { createProxyServer, type ProxyServer } from 'httpxy';
import type { Choice } from '../upstream/choice.ts';
import { NotConnected, type Endpoint } from '../upstream/endpoint.ts';
import { hasBody, isGone, type Request, type Response } from './answers.ts';
import { takeResponseHeaders } from './headers.ts';

/** `answered`: by the endpoint, whatever it said. `gone`: there is nobody to answer any more. Otherwise nothing has been answered yet. */
export type Outcome = { readonly kind: 'answered' | 'gone' } | { readonly kind: 'failed'; readonly status: 502 | 504; readonly why: string };

/** Endpoints that are tried for one request. */
const mostEndpoints = 5;
/** How often a request is sent again because the kept connection it went to was just being closed. */
const mostRepeats = 2;
/** Sent twice they do what they do once (RFC 9110, 9.2.2). */
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']);

interface Sending {
  request: ClientRequest | undefined;
  answered: boolean;
  timedOut: boolean;
}

/** Sends requests on to endpoints. What goes over the wire is the library's work; here is to which endpoint, and what to do when it fails. */
export class Forwarder {
  readonly #proxy: ProxyServer<Request & object, Response & object>;
  readonly #sending = new WeakMap<object, Sending>();
  readonly #responseMs: number;
  /** Requests sent anew to another endpoint or on another connection. */
  repeated = 0;
  unconnected = 0;

  /** `responseMs`: how long an endpoint may be silent before it answers; `draining`: the proxy is about to end. */
  constructor(responseMs: number, draining: () => boolean) {
    this.#responseMs = responseMs;
    this.#proxy = createProxyServer() as unknown as ProxyServer<Request & object, Response & object>;
    this.#proxy.on('proxyReq', (sent, request) => this.#sent(sent, request));
    this.#proxy.on('proxyRes', (received, request, response) => {
      takeResponseHeaders(received.headers);
      // The client shall not send another request on a connection that is about to end.
      if (draining() && request.httpVersionMajor === 1) (request.headers as Record<string, string>)['connection'] = 'close';
      // An endpoint that answers in its own time has its headers passed on now, not with the first byte of the body.
      setImmediate(() => {
        if (!response.headersSent && !isGone(response) && response.statusCode === received.statusCode) (response as ServerResponse).flushHeaders();
      });
    });
  }

  /** Resolves when the exchange is over, or nothing came of it. `headers` replace those of the request. */
  async forward(request: Request, response: Response, choice: Choice, headers: Readonly<Record<string, string>>): Promise<Outcome> {
    const tried = new Set<Endpoint>();
    let failure = 'no endpoint is left';
    for (let repeats = 0; tried.size < mostEndpoints; ) {
      const endpoint = choice.next(tried);
      if (endpoint === undefined) break;
      tried.add(endpoint);
      const sending: Sending = { request: undefined, answered: false, timedOut: false };
      this.#sending.set(request, sending);
      try {
        await this.#send(endpoint, request, response, headers);
        return { kind: 'answered' };
      } catch (error) {
        if (isGone(response)) return { kind: 'gone' };
        if (response.headersSent) {
          response.destroy();
          return { kind: 'gone' };
        }
        failure = `${endpoint.text}: ${(error as Error).message}`;
        if (error instanceof NotConnected) {
          failure = error.message;
          this.unconnected += 1;
          this.repeated += 1;
        } else if (repeats < mostRepeats && repeatable(request, sending, error as NodeJS.ErrnoException)) {
          tried.delete(endpoint);
          repeats += 1;
          this.repeated += 1;
        } else {
          return { kind: 'failed', status: sending.timedOut ? 504 : 502, why: sending.timedOut ? `${endpoint.text} did not answer within ${this.#responseMs / 1000} s` : failure };
        }
      }
    }
    return { kind: 'failed', status: 502, why: failure };
  }

  async #send(endpoint: Endpoint, request: Request, response: Response, headers: Readonly<Record<string, string>>): Promise<void> {
    endpoint.busy += 1;
    try {
      await this.#proxy.web(request, response, { target: { protocol: 'http:', host: endpoint.address, port: endpoint.port }, agent: endpoint.agent, headers: { ...headers } });
    } finally {
      endpoint.busy -= 1;
    }
  }

  #sent(sent: ClientRequest, request: Request): void {
    const sending = this.#sending.get(request);
    if (sending === undefined) return;
    sending.request = sent;
    // While the client still sends, the endpoint owes no answer.
    sent.once('finish', () => {
      if (sending.answered) return;
      sent.setTimeout(this.#responseMs, () => {
        sending.timedOut = true;
        sent.destroy();
      });
    });
    // An answer that has begun may take its time.
    sent.once('response', () => {
      sending.answered = true;
      sent.setTimeout(0);
    });
  }
}

/** A kept connection may be closed by the endpoint just when a request goes out on it; then it has not been worked on, or may be worked on again. */
function repeatable(request: Request, { request: sent, timedOut }: Sending, { code }: NodeJS.ErrnoException): boolean {
  return !timedOut && sent?.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE') && idempotent.has(request.method ?? '') && !hasBody(request);
}
