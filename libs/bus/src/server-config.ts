import type { Credential } from './identities.ts';
import { permissionsOf } from './permissions.ts';

export interface ServerConfig {
  readonly host: string;
  readonly port: number;
  readonly storeDir: string;
  /** HTTP monitoring, on loopback only: it asks for no key. Off when left out. */
  readonly httpPort?: number;
  /** PEM files: clients that come over the network speak TLS from the first byte; those that do not are served plain, so that local ones need nothing. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Only their public keys are written: the file holds no secret. */
  readonly identities: readonly Omit<Credential, 'seed'>[];
  /** Public key of `createIssuer`: who has no nkey is let in by whoever answers with its seed (`answerLogins`). Absent: nobody else is let in. */
  readonly issuer?: string;
}

/** The account of everybody but the server itself. */
export const account = 'ROUNDSMAN';

/** Text of a nats.conf: one account, one nkey user per identity with its permissions, every message on disk before its ack. */
export function renderServerConfig({ host, port, storeDir, httpPort, tls, identities, issuer }: ServerConfig): string {
  // JSON is valid NATS configuration, quoting included.
  const users = identities.map((identity) => {
    const { publish, subscribe, denySubscribe, responds } = permissionsOf(identity);
    const permissions = {
      // An empty allow list would mean that everything is allowed.
      publish: publish.length > 0 ? { allow: publish } : { deny: ['>'] },
      subscribe: { allow: subscribe, ...(denySubscribe.length > 0 ? { deny: denySubscribe } : {}) },
      ...(responds ? { allow_responses: { max: 1, expires: '2m' } } : {}),
    };
    return `      # ${identity.name}\n      ${JSON.stringify({ nkey: identity.publicKey, permissions })}`;
  });
  return `# Written by Roundsman; change who may do what in libs/bus/src/duties.ts.
listen: ${JSON.stringify(`${host.includes(':') ? `[${host}]` : host}:${port}`)}
${httpPort === undefined ? '' : `http: ${JSON.stringify(`127.0.0.1:${httpPort}`)}\n`}${tls === undefined ? '' : `tls {
  cert_file: ${JSON.stringify(tls.certFile)}
  key_file: ${JSON.stringify(tls.keyFile)}
  handshake_first: auto
}
allow_non_tls: true
`}server_name: roundsman
max_payload: 4MB
# A client on a starved machine takes longer than the usual two seconds to answer, and a refused log-in is final.
authorization {
  timeout: 15
${issuer === undefined ? '' : callout(issuer, identities)}}
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: 4GB
}
accounts {
${issuer === undefined ? '' : `  ${askedFor} {}\n`}  ${account} {
    jetstream: enabled
    users: [
${users.join('\n')}
    ]
  }
}
`;
}

/** Of this account nobody is. */
const askedFor = 'ASKED';

/**
 * The server asks about every client that has no nkey, and, without `allowed_accounts`, also about those that have one; with it, only about those of
 * accounts in that list: an account that has none keeps all nkeys out of it, whether or not somebody answers. `auth_users` may not be empty, and none
 * of this may change while the server runs (a reload that would change it is refused): it does not depend on which agents there are.
 */
function callout(issuer: string, identities: ServerConfig['identities']): string {
  const answering = identities.filter(({ role }) => role === 'controllers').map(({ publicKey }) => publicKey);
  if (answering.length === 0) throw new Error('an issuer of log-ins is given, and no identity that may answer them (controllers)');
  return `  auth_callout ${JSON.stringify({ issuer, account, auth_users: answering, allowed_accounts: [askedFor] })}\n`;
}
