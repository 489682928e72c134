import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** What HTTPS needs; `ca` is what clients must trust, when it is not one they know. */
export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string | undefined;
}

export interface TlsSettings {
  readonly tlsFolder?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
}

/** Renewed at a start when it has fewer days left. */
const renewDays = 90;
const day = 86_400_000;

/** Undefined: plain HTTP. Throws when files are missing or do not fit together. kubectl sends a token over HTTPS only. */
export async function serverCertificate(settings: TlsSettings, names: readonly string[]): Promise<ServerCertificate | undefined> {
  const { tlsFolder, tlsCertFile, tlsKeyFile } = settings;
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined)) throw new Error('set both ROUNDSMAN_GATEWAY_TLS_CERT_FILE and ROUNDSMAN_GATEWAY_TLS_KEY_FILE, or neither');
  if (tlsCertFile !== undefined && tlsKeyFile !== undefined) return { cert: readFileSync(tlsCertFile, 'utf8'), key: readFileSync(tlsKeyFile, 'utf8'), ca: undefined };
  return tlsFolder === undefined ? undefined : kept(tlsFolder, [...new Set(names)]);
}

/** The folder's own: made when it is not there, when it does not name what it must, and in time before it ends. */
async function kept(folder: string, names: readonly string[]): Promise<ServerCertificate> {
  const at = (file: string): string => join(folder, file);
  const read = (file: string): string | undefined => (existsSync(at(file)) ? readFileSync(at(file), 'utf8') : undefined);
  const [cert, key, ca, caKey] = ['tls.crt', 'tls.key', 'ca.crt', 'ca.key'].map(read);
  if (cert !== undefined && key !== undefined && ca !== undefined && isGood(cert, ca, names)) return { cert, key, ca };
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // The authority stays as long as it can, so that kubeconfigs that were handed out stay good.
  const authority = ca !== undefined && caKey !== undefined && daysLeft(ca) > 2 * renewDays ? { ca, caKey } : undefined;
  const { makeCertificate } = await import('./make-certificate.ts');
  const made = await makeCertificate(names, authority);
  const write = (file: string, text: string): void => {
    writeFileSync(at(`${file}.new`), text, { mode: 0o600 });
    renameSync(at(`${file}.new`), at(file));
  };
  write('ca.key', made.caKey);
  write('ca.crt', made.ca);
  write('tls.key', made.key);
  write('tls.crt', made.cert);
  return made;
}

const daysLeft = (pem: string): number => (new X509Certificate(pem).validToDate.getTime() - Date.now()) / day;

function isGood(cert: string, ca: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(cert);
  if (daysLeft(cert) < renewDays || !certificate.checkIssued(new X509Certificate(ca))) return false;
  return names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined);
}
