import type { ConnectionOptions } from 'node:tls';
import type { HttpTarget, Materials } from '@roundsman/api';
import { tlsOptions } from '../tls-options.ts';
import type { BodyRule } from './response-parser.ts';

/** One target's request, built once per round: the same bytes go out every time. */
export interface HttpRequest {
  url: URL;
  /** The request as HTTP/1.1 bytes, head and body. */
  bytes: Buffer;
  method: HttpTarget['method'];
  /** What HTTP/2 needs apart from the bytes. */
  authority: string;
  path: string;
  /** Lower-case names, without those that belong to HTTP/1.1 connections and without Host. */
  headers: [string, string][];
  body: Buffer | undefined;
  rule: BodyRule;
  /** A lost request may be sent again (RFC 9110 9.2.2). */
  idempotent: boolean;
  /** Undefined for plain HTTP. */
  tls: ConnectionOptions | undefined;
  http2: boolean;
}

/** Methods that say how long their body is even when it has none. */
const withBody = new Set(['POST', 'PUT', 'PATCH']);
const idempotent = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);
/** The engine frames messages itself, so these are never taken from the user. */
const framing = new Set(['content-length', 'transfer-encoding']);
const ofConnection = new Set(['connection', 'keep-alive', 'proxy-connection', 'upgrade', 'te', 'host']);
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Throws on what no request can be made of: the URL, a header, the TLS files; the message names it. */
export function buildRequest(target: HttpTarget, materials: Materials): HttpRequest {
  const url = parseUrl(target.url);
  const secure = url.protocol === 'https:';
  const body = target.hasBody ? Buffer.from(required(materials.body, target, 'body'), 'base64') : undefined;
  for (const [name, value] of target.headers) checkHeader(target, name, value);
  const headers = target.headers.filter(([name]) => !framing.has(name.toLowerCase()));
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1].trim() ?? url.host;
  if (!given.has('user-agent')) headers.push(['User-Agent', 'roundsman']);
  if (!given.has('accept')) headers.push(['Accept', '*/*']);
  const authority = target.method === 'CONNECT' ? `${url.hostname}:${portOf(url)}` : host;
  const path = `${url.pathname}${url.search}`;
  const length = body !== undefined || withBody.has(target.method) ? (body?.length ?? 0) : undefined;
  const lines = [
    `${target.method} ${target.method === 'CONNECT' ? authority : path} HTTP/1.1`,
    ...(given.has('host') ? [] : [`Host: ${target.method === 'CONNECT' ? authority : host}`]),
    ...headers.map(([name, value]) => `${name}: ${value.trim()}`),
    ...(length === undefined ? [] : [`Content-Length: ${length}`]),
  ];
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'utf8');
  return {
    url,
    bytes: body === undefined ? head : Buffer.concat([head, body]),
    method: target.method,
    authority,
    path,
    headers: [
      ...headers.filter(([name]) => !ofConnection.has(name.toLowerCase())).map(([name, value]): [string, string] => [name.toLowerCase(), value.trim()]),
      ...(length === undefined ? [] : [['content-length', String(length)] as [string, string]]),
    ],
    body: body === undefined || body.length === 0 ? undefined : body,
    rule: target.method === 'HEAD' ? 'head' : target.method === 'CONNECT' ? 'connect' : 'normal',
    idempotent: idempotent.has(target.method),
    tls: secure ? tlsOptions(target, materials, nameOf(host)) : undefined,
    http2: target.http2 && secure,
  };
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) throw new Error(`target url "${text}" is not an absolute http:// or https:// URL`);
  return url;
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function checkHeader(target: HttpTarget, name: string, value: string): void {
  if (!token.test(name)) throw new Error(`target ${target.id}: "${name}" is not a header name`);
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value)) throw new Error(`target ${target.id}: the value of header ${name} has control characters`);
}

/** Host without the port, without the brackets of an IPv6 address. */
function nameOf(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host);
  return bracketed?.[1] ?? host.replace(/:\d*$/, '');
}

function required(value: string | undefined, target: { id: string }, what: string): string {
  if (value === undefined) throw new Error(`target ${target.id}: the round's materials hold no ${what}`);
  return value;
}
