import { request as requestPlain, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as requestTls } from 'node:https';
import type { Container, HTTPGetAction } from '@roundsman/api';
import { failure, isRefusal, success, type Outcome } from './outcome.ts';
import { dialProblem, endpoint, portNumber } from './port.ts';

const mostRedirects = 10;

/** Asks as the kubelet does: certificates are not checked; a redirect is followed on the same host only. Throws for a port that names none. */
export async function requestHttp(action: HTTPGetAction, container: Container, podIP: string, signal: AbortSignal): Promise<{ status: number; redirected: boolean } | { problem: string; refused?: boolean }> {
  const host = action.host === undefined || action.host === '' ? podIP : action.host;
  const path = action.path ?? '/';
  const start = new URL(`${(action.scheme ?? 'HTTP').toLowerCase()}://${endpoint(host, portNumber(action.port, container))}${path.startsWith('/') ? path : `/${path}`}`);
  const headers = headersOf(action);
  let url = start;
  for (let hop = 0; ; hop += 1) {
    let response: IncomingMessage;
    try {
      response = await one(url, headers, signal);
    } catch (error) {
      const why = signal.aborted ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)' : dialProblem(error as NodeJS.ErrnoException, url.hostname.replaceAll(/[[\]]/g, ''), portOf(url));
      return { problem: `Get "${url.href}": ${why}`, refused: hop === 0 && isRefusal(error as NodeJS.ErrnoException) };
    }
    const status = response.statusCode ?? 0;
    const location = status >= 300 && status < 400 && status !== 304 ? response.headers.location : undefined;
    response.destroy();
    if (location === undefined) return { status, redirected: false };
    const next = new URL(location, url);
    if (next.hostname !== start.hostname) return { status, redirected: true };
    if (hop + 1 >= mostRedirects) return { problem: `Get "${next.href}": stopped after ${mostRedirects} redirects` };
    url = next;
  }
}

export async function probeHttp(action: HTTPGetAction, container: Container, podIP: string, signal: AbortSignal): Promise<Outcome> {
  const answer = await requestHttp(action, container, podIP, signal);
  if ('problem' in answer) return failure(answer.problem, answer.refused);
  if (answer.redirected) return { result: 'warning', message: 'Probe terminated redirects, Response body: ' };
  return answer.status >= 200 && answer.status < 400 ? success : failure(`HTTP probe failed with statuscode: ${answer.status}`);
}

const portOf = (url: URL): number => Number(url.port || (url.protocol === 'https:' ? 443 : 80));

/** A header that is given empty takes the default away, as in Kubernetes. */
function headersOf({ httpHeaders = [] }: HTTPGetAction): OutgoingHttpHeaders {
  const headers: Record<string, string | string[]> = {};
  for (const { name, value } of httpHeaders) {
    const before = headers[name.toLowerCase()];
    headers[name.toLowerCase()] = before === undefined ? value : [before, value].flat();
  }
  const { 'user-agent': agent = 'kube-probe/1.32', accept = '*/*', ...rest } = headers;
  return { ...rest, ...(agent === '' ? {} : { 'user-agent': String(agent) }), ...(accept === '' ? {} : { accept: String(accept) }), connection: 'close' };
}

function one(url: URL, headers: OutgoingHttpHeaders, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = { method: 'GET', headers, agent: false, signal };
    const sent = url.protocol === 'https:' ? requestTls(url, { ...options, rejectUnauthorized: false }) : requestPlain(url, options);
    sent.once('response', resolve);
    // Also after the answer: it is thrown away, and with it what its socket still says.
    sent.on('error', reject);
    sent.end();
  });
}
