import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { Hosts } from '../rules/host.ts';
import type { TlsEntry } from '../rules/routes.ts';
import type { TlsSecret } from './secret.ts';

interface Loaded {
  /** Of the Secret it was made from. */
  readonly version: string;
  readonly context: SecureContext | undefined;
  readonly certificate: X509Certificate | undefined;
  readonly problem: string | undefined;
}

/** Certificates by the name that a client asks for. */
export class Certificates {
  #hosts = new Hosts<SecureContext>();
  #loaded = new Map<string, Loaded>();
  #problems: readonly string[] = [];

  /** What is wrong with what the Ingresses ask for, each a sentence; the hosts concerned have the proxy's own certificate. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** How many Secrets are in use. */
  get size(): number {
    return [...this.#loaded.values()].filter(({ context }) => context !== undefined).length;
  }

  /** Undefined: there is none for this name. */
  contextFor(name: string): SecureContext | undefined {
    return this.#hosts.find(name.toLowerCase());
  }

  /** `entries` come the oldest first, which wins. Takes effect with the next connection. */
  update(entries: readonly TlsEntry[], secrets: readonly TlsSecret[]): void {
    const byName = new Map(secrets.map((secret) => [`${secret.metadata.namespace ?? ''}/${secret.metadata.name}`, secret]));
    const hosts = new Hosts<SecureContext>();
    const loaded = new Map<string, Loaded>();
    const problems: string[] = [];
    for (const { ingress, namespace, secret: name, hosts: wanted } of entries) {
      if (name === undefined) continue;
      const key = `${namespace}/${name}`;
      const one = loaded.get(key) ?? this.#load(key, byName.get(key));
      loaded.set(key, one);
      if (one.problem !== undefined) problems.push(`Ingress ${ingress}: ${one.problem}; the proxy's own certificate is shown for ${wanted.join(', ') || 'its hosts'}`);
      if (one.context === undefined) continue;
      for (const host of wanted) {
        if (hosts.get(host) === undefined) hosts.set(host, one.context);
        if (host !== '' && !covers(one.certificate, host)) problems.push(`Ingress ${ingress}: the certificate in Secret ${key} is not for ${host}`);
      }
    }
    this.#hosts = hosts;
    this.#loaded = loaded;
    this.#problems = problems;
  }

  #load(key: string, secret: TlsSecret | undefined): Loaded {
    const none = (version: string, problem: string): Loaded => ({ version, context: undefined, certificate: undefined, problem });
    if (secret === undefined) return none('', `Secret ${key} does not exist, or is not of type kubernetes.io/tls`);
    const version = `${secret.metadata.uid}/${secret.metadata.resourceVersion}`;
    const before = this.#loaded.get(key);
    if (before?.version === version) return before;
    const [cert, privateKey] = ['tls.crt', 'tls.key'].map((entry) => secret.data?.[entry]);
    if (cert === undefined || privateKey === undefined) return none(version, `Secret ${key} has no ${cert === undefined ? 'tls.crt' : 'tls.key'}`);
    try {
      const pem = Buffer.from(cert, 'base64');
      const context = createSecureContext({ cert: pem, key: Buffer.from(privateKey, 'base64'), minVersion: 'TLSv1.2' });
      return { version, context, certificate: new X509Certificate(pem), problem: undefined };
    } catch (error) {
      return none(version, `the certificate or key in Secret ${key} cannot be used: ${(error as Error).message}`);
    }
  }
}

function covers(certificate: X509Certificate | undefined, host: string): boolean {
  // A name below the wildcard stands for all of them.
  return certificate === undefined || certificate.checkHost(host.replace(/^\*/, 'a'), { partialWildcards: false }) !== undefined;
}
