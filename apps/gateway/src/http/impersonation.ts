import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest } from '@roundsman/api';
import type { User } from './auth.ts';

const prefix = 'impersonate-';
const extraPrefix = `${prefix}extra-`;
/** Names of the product's own services and of its agents: what they write is believed, and not told in the log. */
const reserved = /^system:(roundsman|node):/;

type Headers = Pick<IncomingMessage, 'headersDistinct'>;

/**
 * As whom a request is made: `user`, who sent it, unless headers `Impersonate-User` (-Group, -Uid, -Extra-KEY) name another, as kubectl's
 * `--as` does. Who holds the token may do everything, so be everybody, but none of the product's own services: that is a 403.
 */
export function impersonated(user: User, { headersDistinct }: Headers): User {
  const [name] = headersDistinct[`${prefix}user`] ?? [];
  const groups = headersDistinct[`${prefix}group`] ?? [];
  const [uid] = headersDistinct[`${prefix}uid`] ?? [];
  const extra = Object.entries(headersDistinct).flatMap(([header, values]) => (header.startsWith(extraPrefix) ? [[decoded(header.slice(extraPrefix.length)), values ?? []] as const] : []));
  if (!name) {
    if (groups.length > 0 || uid || extra.length > 0) throw badRequest('the headers Impersonate-Group, Impersonate-Uid and Impersonate-Extra-* need Impersonate-User beside them');
    return user;
  }
  if (reserved.test(name)) {
    const message = `users "${name}" is forbidden: User "${user.name}" cannot impersonate resource "users" in API group "" at the cluster scope: names that begin with system:roundsman: or system:node: are those of Roundsman's own services`;
    throw new ApiError('Forbidden', message, { name, kind: 'users' });
  }
  return { name, groups: groupsOf(name, groups), ...(uid ? { uid } : {}), ...(extra.length > 0 ? { extra: Object.fromEntries(extra) } : {}) };
}

/** Everybody but the anonymous user is authenticated; a service account is in the groups of accounts, unless others are named. */
function groupsOf(name: string, given: readonly string[]): string[] {
  if (name === 'system:anonymous') return given.includes('system:unauthenticated') ? [...given] : [...given, 'system:unauthenticated'];
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  const own = given.length > 0 || namespace === undefined ? given : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return own.includes('system:authenticated') ? [...own] : [...own, 'system:authenticated'];
}

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
