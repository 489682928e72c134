import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { canonicalPath } from '@roundsman/api';
import type { Logger } from 'pino';
import { hostName } from '../rules/host.ts';
import type { Found, Routes } from '../rules/routes.ts';
import type { Backends } from '../upstream/backends.ts';
import type { Choice } from '../upstream/choice.ts';
import { answer, hasBody, refuseUpgrade, type Request, type Response } from './answers.ts';
import type { Forwarder } from './forwarder.ts';
import { forwardedHeaders, hostHeader, isEncrypted, takeRequestHeaders, takeUpgradeHeaders } from './headers.ts';
import { authorityOf, originForm, withoutPrefix } from './target.ts';
import type { Upgrader } from './upgrader.ts';

export interface RequestsOptions {
  /** Undefined: the rules are not known yet. */
  readonly routes: () => Routes | undefined;
  readonly backends: Backends;
  readonly forwarder: Forwarder;
  readonly upgrader: Upgrader;
  /** How long a client may be silent within a body, and take nothing of its answer, milliseconds. */
  readonly clientMs: number;
  /** Where HTTPS is reached by whoever reached HTTP at this port. */
  readonly httpsPortFor: (httpPort: number) => number;
  /** Whether the proxy is about to end. */
  readonly draining: () => boolean;
  /** Told of every request when it is over; status 0: the client left before it was answered. `ingress` is `` for those of none. */
  readonly over: (ingress: string, status: number, seconds: number) => void;
  readonly log: Logger;
}

/** What is to become of a request. */
type Decision =
  | { readonly kind: 'forward'; readonly found: Found; readonly choice: Choice; readonly target: string; readonly strippedPrefix: string }
  | { readonly kind: 'redirect'; readonly found: Found; readonly to: string }
  | { readonly kind: 'answer'; readonly found?: Found; readonly status: number; readonly sentence: string };

/** Decides by the rules where each request goes, and answers those that go nowhere. */
export class Requests {
  readonly #options: RequestsOptions;
  /** Requests under way. */
  #open = 0;

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#open;
  }

  async handle(request: Request, response: Response): Promise<void> {
    const begun = performance.now();
    const { draining, forwarder, clientMs, over, log } = this.#options;
    this.#open += 1;
    let ingress = '';
    try {
      limitSilence(request, response, clientMs);
      const decision = this.#decide(request);
      ingress = decision.found?.route.ingress ?? '';
      if (decision.kind === 'answer') return answer(request, response, decision.status, decision.sentence);
      // 308: the method and the body stay.
      if (decision.kind === 'redirect') return answer(request, response, 308, `Go to ${decision.to}`, { location: decision.to });
      const headers = { ...forwardedHeaders(request, decision.strippedPrefix), ...(request.httpVersionMajor > 1 ? {} : { connection: 'keep-alive' }) };
      takeRequestHeaders(request, draining());
      request.url = decision.target;
      const outcome = await forwarder.forward(request, response, decision.choice, headers);
      if (outcome.kind !== 'failed') return;
      const what = outcome.status === 504 ? 'did not answer in time' : 'could not be asked';
      answer(request, response, outcome.status, `${nameOf(decision.found)} ${what}: ${outcome.why}.`);
    } catch (error) {
      log.error({ err: error, ingress }, 'a request could not be handled');
      answer(request, response, 500, 'The ingress proxy failed; its log says why.');
    } finally {
      this.#open -= 1;
      const status = response.headersSent ? response.statusCode : 0;
      const seconds = (performance.now() - begun) / 1000;
      over(ingress, status, seconds);
      log.debug({ method: request.method, host: hostHeader(request), url: request.url, status, ms: Math.round(seconds * 1000), ingress }, 'request');
    }
  }

  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Whoever goes away while it is decided must not end the process.
    const gone = (): void => void socket.destroy();
    socket.on('error', gone);
    const { upgrader, over, log } = this.#options;
    let ingress = '';
    const refuse = (status: number, sentence: string): void => {
      refuseUpgrade(socket, status, sentence);
      over(ingress, status, 0);
    };
    try {
      const decision = this.#decide(request);
      ingress = decision.found?.route.ingress ?? '';
      if (decision.kind === 'answer') return refuse(decision.status, decision.sentence);
      // A WebSocket client follows no redirect.
      if (decision.kind === 'redirect') return refuse(426, `This host is served by TLS only: ${decision.to}`);
      if (hasBody(request)) return refuse(400, 'A request to become a WebSocket has no body.');
      const headers = forwardedHeaders(request, decision.strippedPrefix);
      takeUpgradeHeaders(request);
      request.url = decision.target;
      await upgrader.upgrade(request, socket, head, decision.choice, headers).then(
        () => over(ingress, 101, 0),
        (error: Error) => refuse(502, `${nameOf(decision.found)} could not be asked: ${error.message}.`),
      );
    } catch (error) {
      log.error({ err: error, ingress }, 'a request could not be handled');
      refuse(500, 'The ingress proxy failed; its log says why.');
    }
  }

  #decide(request: Request): Decision {
    const routes = this.#options.routes();
    if (routes === undefined) return { kind: 'answer', status: 503, sentence: 'The ingress proxy does not know any rules yet; it waits for the control plane.' };
    const target = originForm(request);
    const path = target === undefined ? undefined : canonicalPath(target);
    if (target === undefined || path === undefined) return { kind: 'answer', status: 400, sentence: 'The path of the request cannot be read.' };
    const authority = authorityOf(request);
    if (authority !== undefined) request.headers.host = authority;
    const host = hostName(hostHeader(request));
    const found = routes.find(host, path);
    if (found === undefined) {
      const missing = routes.knows(host) ? `the path ${path} of the host ${host || '(none)'}` : `the host ${host || '(none)'}`;
      return { kind: 'answer', status: 404, sentence: `No Ingress has a rule for ${missing}, and none has a default backend.` };
    }
    if (!isEncrypted(request) && found.route.redirects && routes.secured(host)) return { kind: 'redirect', found, to: this.#secureUrl(request, host, target) };
    const { route } = found;
    if (route.target.kind === 'none') return { kind: 'answer', found, status: 503, sentence: `Ingress ${route.ingress} cannot be served: ${route.target.why}.` };
    const backend = this.#options.backends.of(route.target);
    if ('problem' in backend) return { kind: 'answer', found, status: 503, sentence: `${backend.problem} (Ingress ${route.ingress}).` };
    const strips = route.stripsPrefix && found.matched !== '';
    return { kind: 'forward', found, choice: backend.choice, target: strips ? withoutPrefix(target, path, found.matched) : target, strippedPrefix: strips ? found.matched : '' };
  }

  #secureUrl(request: Request, host: string, target: string): string {
    const port = this.#options.httpsPortFor(Number(/:(\d+)$/.exec(hostHeader(request) ?? '')?.[1] ?? 80));
    return `https://${host}${port === 443 ? '' : `:${port}`}${target}`;
  }
}

function nameOf({ route: { target } }: Found): string {
  return target.kind === 'service' ? `Service ${target.namespace}/${target.service}, port ${target.port},` : 'The backend';
}

/** A client that stops in the midst of a body, or takes nothing of what is there for it, is not waited for. A silence of the endpoint is not the client's. */
function limitSilence(request: Request, response: Response, clientMs: number): void {
  (response as ServerResponse).setTimeout(clientMs, () => {
    if ((hasBody(request) && !request.complete) || response.writableLength > 0) response.destroy();
  });
}
