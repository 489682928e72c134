import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Home } from '../home.ts';

/**
 * What a machine shows to join: `rj1.<secret>.<pin>`. The secret proves the machine to the cluster; the pin (SHA-256 of the DER of the cluster's
 * certificate authority) proves the cluster to the machine, so that no certificate must be carried over first.
 */
export interface JoinToken {
  readonly secret: string;
  readonly pin: string;
}

const form = /^rj1\.([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{43})$/;

/** Undefined when it is none. */
export function parseToken(text: string): JoinToken | undefined {
  const [, secret, pin] = form.exec(text.trim()) ?? [];
  return secret === undefined || pin === undefined ? undefined : { secret, pin };
}

const textOf = ({ secret, pin }: JoinToken): string => `rj1.${secret}.${pin}`;

/** SHA-256 of a certificate, as in a token. `der` is its bytes. */
export const pinOf = (der: Uint8Array): string => createHash('sha256').update(der).digest('base64url');

const keptSchema = z.array(z.object({ hash: z.string(), expires: z.iso.datetime() }));
const file = 'keys/join-tokens.json';
const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('base64url');

/** Tokens that are good now. Only their hashes are kept: what this file says lets nobody in. */
function kept(home: Home): z.infer<typeof keptSchema> {
  const text = home.read(file);
  return text === undefined ? [] : keptSchema.parse(JSON.parse(text)).filter(({ expires }) => Date.parse(expires) > Date.now());
}

/** A new token, good for any number of machines until it expires. */
export function makeToken(home: Home, pin: string, goodForMs: number): { token: string; expires: string } {
  const secret = randomBytes(32).toString('base64url');
  const expires = new Date(Date.now() + goodForMs).toISOString();
  home.write(file, `${JSON.stringify([...kept(home), { hash: hashOf(secret), expires }], undefined, 2)}\n`);
  return { token: textOf({ secret, pin }), expires };
}

/** Whether this secret is one that was given out and has not expired. */
export function isGood(home: Home, secret: string): boolean {
  const asked = Buffer.from(hashOf(secret));
  return kept(home).some(({ hash }) => timingSafeEqual(Buffer.from(hash), asked));
}
