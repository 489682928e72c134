import { createPrivateKey, sign } from 'node:crypto';
import { fromSeed, type KeyPair } from '@nats-io/nkeys';

/** What stands before the 32 bytes of an Ed25519 private key in PKCS #8 (RFC 8410). */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/**
 * The issuer's key pair, signing with OpenSSL: the one of the library works in JavaScript and takes tens of milliseconds per signature, which is much
 * when all runners of a cluster come back at once. Throws when the seed is not that of an account nkey.
 */
export function issuerKey(seed: string): KeyPair {
  const pair = fromSeed(new TextEncoder().encode(seed)) as KeyPair & { getRawSeed(): Uint8Array };
  const publicKey = pair.getPublicKey();
  if (!publicKey.startsWith('A')) throw new Error('the seed of the issuer of log-ins is not that of an account nkey');
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, pair.getRawSeed()]), format: 'der', type: 'pkcs8' });
  return Object.assign(Object.create(pair) as KeyPair, { getPublicKey: () => publicKey, sign: (input: Uint8Array) => new Uint8Array(sign(null, input, key)) });
}
