import { encodeAuthorizationResponse, encodeUser } from '@nats-io/jwt';
import type { User } from '@nats-io/jwt';
import type { KeyPair } from '@nats-io/nkeys';
import type { Identity } from '../identities.ts';
import { permissionsOf } from '../permissions.ts';
import { account } from '../server-config.ts';

/** What of a server's question its answer is bound to: the key it made for this one log-in, and itself. */
export interface Asked {
  readonly userKey: string;
  readonly server: string;
}

/** The identity's rights as the server takes them from a user's token: the same that `renderServerConfig` writes for one with an nkey. */
function rightsOf(identity: Identity): Partial<User> {
  const { publish, subscribe, denySubscribe, responds } = permissionsOf(identity);
  return {
    // An empty allow list would mean that everything is allowed.
    pub: publish.length > 0 ? { allow: [...publish] } : { deny: ['>'] },
    sub: { allow: [...subscribe], ...(denySubscribe.length > 0 ? { deny: [...denySubscribe] } : {}) },
    ...(responds ? { resp: { max: 1, ttl: 120 * 1e9 } } : {}),
  };
}

/** Lets the client in as this identity; the server ends its connection after so many seconds, and asks again when it comes back. */
export async function admission(issuer: KeyPair, { userKey, server }: Asked, identity: Identity, lifeSeconds: number): Promise<string> {
  const exp = Math.floor(Date.now() / 1000) + lifeSeconds;
  const jwt = await encodeUser(identity.name, userKey, issuer, rightsOf(identity), { aud: account, exp });
  return encodeAuthorizationResponse(userKey, server, issuer, { jwt }, {});
}

/** The server logs the reason; the client hears that it was refused, no more. */
export const refusal = (issuer: KeyPair, { userKey, server }: Asked, reason: string): Promise<string> => encodeAuthorizationResponse(userKey, server, issuer, { error: reason }, {});
