import type { Policy } from '../policy.ts';
import { parseAddress } from '../policy.ts';
import { forbiddenField, invalidValue, type Findings } from './causes.ts';

/** A target's URL as it will be requested: `http://` is put before a host without a scheme. `problem` says why there is none. */
export function targetUrl(host: string): { readonly url: URL; readonly problem?: undefined } | { readonly url?: undefined; readonly problem: string } {
  // The URL parser drops these silently: what is requested would not be what was written.
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(host)) return { problem: 'must not contain spaces or control characters' };
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\//.exec(host)?.[1];
  if (scheme !== undefined && !/^https?$/i.test(scheme)) return { problem: `scheme must be http or https, not ${scheme}` };
  const text = scheme === undefined ? `http://${host}` : host;
  // The URL parser skips slashes before a host, of any number: `http:///x` and `http:/x` would request x, and `http://http://x` a host http.
  if (/^(https?:)?[/\\]/i.test(scheme === undefined ? host : host.slice(`${scheme}://`.length))) return { problem: 'names no host: write one after http://, as in https://shop.example.com/health' };
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { problem: 'must be a URL such as https://shop.example.com/health, 10.0.0.1:8080 or [fd00::1]:8080' };
  }
  if (url.username !== '' || url.password !== '') return { problem: 'must not hold a user name or password: send them in a header' };
  if (url.port === '0') return { problem: 'port must be from 1 to 65535' };
  const name = url.hostname;
  if (!name.startsWith('[') && !/^(?=.{1,253}\.?$)[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?)*\.?$/.test(name)) {
    return { problem: `"${name}" is neither a DNS name nor an IP address` };
  }
  return { url };
}

/** The port a URL is requested on. */
export const portOf = (url: URL): number => (url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port));

/** A literal address the target policy forbids is refused at once; names are judged by what they resolve to, when probed. */
export function policyRule(field: string, host: string, port: number, policy: Policy | undefined, { causes }: Findings): void {
  if (policy === undefined || parseAddress(host) === undefined) return;
  const refusal = policy.refusal(host.replace(/^\[|\]$/g, ''), port);
  if (refusal !== undefined) causes.push(forbiddenField(field, refusal));
}

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Headers that the engine itself must own: the message's framing and the connection. */
const ownedHeaders = new Set(['content-length', 'transfer-encoding', 'connection', 'keep-alive', 'upgrade', 'te', 'trailer', 'proxy-connection', 'expect']);

/** `"Key: value"` apart; a string says what is wrong. The value may hold colons. */
export function splitHeader(line: string): readonly [name: string, value: string] | string {
  if (/[\r\n\0]/.test(line)) return 'must not contain a line break';
  const colon = line.indexOf(':');
  if (colon < 0) return 'must be "Key: value": it has no colon';
  const name = line.slice(0, colon).trim();
  const value = line.slice(colon + 1).trim();
  if (!headerName.test(name)) return 'the part before the colon is not a header name';
  // oxlint-disable-next-line no-control-regex -- header values may hold tabs and Latin-1, no other control characters
  if (!/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value)) return 'the value may only hold printable characters of Latin-1';
  return [name, value];
}

export function headerRules(headers: readonly string[], { causes }: Findings): void {
  for (const [index, line] of headers.entries()) {
    const split = splitHeader(line);
    const field = `spec.target.header[${index}]`;
    // The value may be a credential: only the name is repeated.
    if (typeof split === 'string') causes.push(invalidValue(field, line.includes(':') ? `${line.slice(0, line.indexOf(':') + 1)} ...` : line, split));
    else if (ownedHeaders.has(split[0].toLowerCase())) causes.push(forbiddenField(field, `${split[0]} is set by the prober`));
  }
}
