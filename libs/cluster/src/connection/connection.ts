import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../cluster.ts';
import type { AccessByKubeconfig } from './access.ts';

export interface Call {
  readonly method: 'GET' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** A busy server is asked again so often, when it says when. */
const busyTries = 5;
const maxBusyMs = 10_000;

/** HTTP requests to a Kubernetes API. What it refuses is a `ClusterError`; one that does not answer an ordinary error that names it. */
export class Connection {
  readonly #access: AccessByKubeconfig;
  readonly #userAgent: string;
  readonly #answerMs: number;
  readonly #closed = new AbortController();
  #problem: { readonly text: string; readonly atMs: number } | undefined;

  /** `answerMs`: an answer must have begun within so long, and come to its end within so long again. */
  constructor(access: AccessByKubeconfig, options: { userAgent: string; answerMs: number }) {
    this.#access = access;
    this.#userAgent = options.userAgent;
    this.#answerMs = options.answerMs;
  }

  /** URL of the server that was asked last. */
  get server(): string | undefined {
    return this.#access.server;
  }

  /** Why the server did not answer when it was last asked; nothing when that is long ago, because nobody wants to know any more. */
  problem(): string | undefined {
    const { text, atMs = 0 } = this.#problem ?? {};
    return performance.now() - atMs < 2 * this.#answerMs + maxBusyMs ? text : undefined;
  }

  /** What the server answers, with the warnings it has about the request. */
  async json<T>(call: Call): Promise<{ object: T; warnings: string[] }> {
    const response = await this.#answer(call);
    try {
      return { object: JSON.parse(await this.#text(response)) as T, warnings: warningsOf(response) };
    } catch (error) {
      throw this.#failed(call, error);
    }
  }

  /** An answer that goes on; ends with the signal or its own end. */
  stream(call: Call & { readonly signal: AbortSignal }): Promise<IncomingMessage> {
    return this.#answer(call);
  }

  close(): void {
    this.#closed.abort(new Error('the connection to the Kubernetes API is closed'));
    this.#access.close();
  }

  async #answer(call: Call): Promise<IncomingMessage> {
    for (let tries = 1; ; tries += 1) {
      const response = await this.#send(call);
      if (response.statusCode !== undefined && response.statusCode < 300) return response;
      const error = refusal(response.statusCode ?? 0, await this.#text(response).catch(() => ''));
      const waitMs = Number(response.headers['retry-after']) * 1000;
      if (!(error.code === 429 || error.code === 503) || !(waitMs >= 0) || tries >= busyTries) throw error;
      await sleep(Math.min(waitMs, maxBusyMs), undefined, { signal: AbortSignal.any([this.#closed.signal, ...(call.signal ? [call.signal] : [])]) });
    }
  }

  async #send(call: Call, again = false): Promise<IncomingMessage> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(new Error(`no answer within ${this.#answerMs / 1000} s`)), this.#answerMs);
    const signal = AbortSignal.any([stop.signal, this.#closed.signal, ...(call.signal ? [call.signal] : [])]);
    try {
      signal.throwIfAborted();
      // Also a program that logs in may hang.
      const response = await Promise.race([this.#request(call, signal), rejectedBy(signal)]);
      this.#problem = undefined;
      return response;
    } catch (error) {
      if (call.signal?.aborted === true || this.#closed.signal.aborted) throw signal.reason;
      // The server closed a connection that was kept, at the moment it was used again. Everything asked here may be asked twice.
      if (error instanceof ReusedSocketError && !again) return await this.#send(call, true);
      throw this.#failed(call, stop.signal.aborted ? stop.signal.reason : error);
    } finally {
      clearTimeout(timer);
    }
  }

  async #request({ method, path, query = {}, body, contentType = 'application/json' }: Call, signal: AbortSignal): Promise<IncomingMessage> {
    const { server, agent, headers, auth } = await this.#access.access();
    const url = new URL(server);
    url.pathname = `${server.pathname.replace(/\/$/, '')}${path}`;
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const send = url.protocol === 'http:' ? httpRequest : httpsRequest;
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const request = send(url, {
        method,
        agent,
        signal,
        auth,
        headers: { ...headers, accept: 'application/json', 'user-agent': this.#userAgent, ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': content.length }) },
      });
      request.once('response', resolve);
      request.on('error', (error: NodeJS.ErrnoException) => reject(request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE') ? new ReusedSocketError(error.message, { cause: error }) : error));
      request.end(content);
    });
  }

  async #text(response: IncomingMessage): Promise<string> {
    const timer = setTimeout(() => response.destroy(new Error(`the answer did not come to its end within ${this.#answerMs / 1000} s`)), this.#answerMs);
    try {
      return await textOf(response);
    } finally {
      clearTimeout(timer);
    }
  }

  #failed({ method, path }: Call, error: unknown): Error {
    const why = error instanceof AggregateError ? error.errors.map(String).join(', ') : error instanceof Error ? error.message || String(error) : String(error);
    const text = `${method} ${this.#access.server ?? ''}${path}: ${why}`;
    this.#problem = { text, atMs: performance.now() };
    return new Error(text, { cause: error });
  }
}

class ReusedSocketError extends Error {}

const rejectedBy = (signal: AbortSignal): Promise<never> => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }));

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** From a Status, or from whatever a proxy in between says. */
function refusal(code: number, text: string): ClusterError {
  try {
    const status = JSON.parse(text) as { kind?: string; message?: string; reason?: string };
    if (status.kind === 'Status') return new ClusterError(status.message ?? `the server answered ${code}`, code, status.reason || undefined);
  } catch {
    // No Status: the text is the message.
  }
  return new ClusterError(text.trim().slice(0, 500) || `the server answered ${code}`, code, undefined);
}

/** Texts of `Warning: 299 - "..."`. */
function warningsOf(response: IncomingMessage): string[] {
  const header = response.headers['warning'];
  return typeof header === 'string' ? [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) => text.replaceAll(/\\(.)/g, '$1')) : [];
}
