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
}

/** Text of a nats.conf: one account, one nkey user per identity with its permissions, every message on disk before its ack. */
export function renderServerConfig({ host, port, storeDir, httpPort, tls, identities }: ServerConfig): string {
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
authorization { timeout: 15 }
jetstream {
  store_dir: ${JSON.stringify(storeDir)}
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: 4GB
}
accounts {
  ROUNDSMAN {
    jetstream: enabled
    users: [
${users.join('\n')}
    ]
  }
}
`;
}
