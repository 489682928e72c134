import type { Request } from './answers.ts';

/** The path and query of a request, whichever form its target has (RFC 9112, 3.2). Undefined: it is none that can be forwarded. */
export function originForm({ url = '' }: Pick<Request, 'url'>): string | undefined {
  if (url.startsWith('/')) return url;
  const rest = /^https?:\/\/[^/?#]*(.*)$/i.exec(url)?.[1];
  if (rest === undefined) return undefined;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** The host that a request target in absolute form names: it counts, whatever the Host header says (RFC 9112, 3.2.2). Undefined for other forms. */
export const authorityOf = ({ url = '' }: Pick<Request, 'url'>): string | undefined => /^https?:\/\/(?:[^/?#@]*@)?([^/?#]*)/i.exec(url)?.[1];

/** `path` (canonical) without the part that a rule covers, and the query of the target it came from: `/api/x?y` and `/api` make `/x?y`. */
export function withoutPrefix(target: string, path: string, matched: string): string {
  const query = target.indexOf('?');
  return `${path.slice(matched.length) || '/'}${query === -1 ? '' : target.slice(query)}`;
}
