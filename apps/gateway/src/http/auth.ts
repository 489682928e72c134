import { createHash, timingSafeEqual } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { ApiError } from '@roundsman/api';

/** Who a request comes from, as `kubectl auth whoami` shows it. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

const administrator: User = { name: 'roundsman:admin', groups: ['system:masters', 'system:authenticated'] };
const anyone: User = { name: 'roundsman:anonymous', groups: ['system:masters', 'system:unauthenticated'] };

/** Says who sends a request by its Authorization header; throws a 401 when nobody may. */
export type Authenticate = (authorization: string | undefined) => User;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Bearer tokens from a file, one per line (several while one replaces another). Throws when there is no file, it is empty, or
 * others may read it: the token is all that protects the API. Without a file only with `insecure`.
 */
export function authenticator(tokenFile: string | undefined, insecure: boolean): Authenticate {
  if (tokenFile === undefined) {
    if (!insecure) throw new Error('no token file: set ROUNDSMAN_GATEWAY_TOKEN_FILE to a file with a bearer token, or ROUNDSMAN_GATEWAY_INSECURE=true to let everybody in');
    return () => anyone;
  }
  const { text, mode } = contentOf(tokenFile);
  if ((mode & 0o077) !== 0) throw new Error(`the token file ${tokenFile} is open to others (mode ${(mode & 0o777).toString(8).padStart(4, '0')}): chmod 600 it (a mounted Kubernetes Secret: defaultMode 0400), and change the token if somebody may have read it`);
  const tokens = text.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  const short = tokens.find((token) => token.length < 16);
  if (tokens.length === 0 || short !== undefined) throw new Error(`the token file ${tokenFile} must hold one token per line, each of at least 16 characters`);
  // Digests have one length, so comparing tells nothing about a token's.
  const known = tokens.map(digest);
  return (authorization) => {
    const [scheme = '', token = ''] = (authorization ?? '').split(' ', 2);
    const given = digest(token);
    let found = false;
    for (const one of known) found = timingSafeEqual(one, given) || found;
    if (scheme.toLowerCase() !== 'bearer' || !found) throw new ApiError('Unauthorized', 'Unauthorized');
    return administrator;
  };
}

/** Text and mode of one and the same file, whatever takes its name meanwhile. */
function contentOf(tokenFile: string): { text: string; mode: number } {
  try {
    const handle = openSync(tokenFile, 'r');
    try {
      return { mode: fstatSync(handle).mode, text: readFileSync(handle, 'utf8') };
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    throw new Error(`the token file ${tokenFile} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
