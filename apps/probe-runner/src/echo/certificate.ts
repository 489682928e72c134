import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { builtFile } from '../built-file.ts';

/** PEM texts of the HTTPS side of the echo target. The CA is the runner's own; nobody else trusts it unless told to. */
export interface EchoCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Made anew when it has less than this left. */
const renewBeforeMs = 30 * 86_400_000;

/**
 * The certificate in `folder`, made there (P-256, own CA) when there is none, when it runs out within 30 days or lacks one of
 * the names. The CA stays the same as long as it is valid, so whoever trusts it need not fetch it again.
 */
export async function echoCertificate(folder: string, names: readonly string[]): Promise<EchoCertificate> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const stored = await readStored(folder);
  if (stored !== undefined && covers(stored.cert, names)) return { ca: stored.ca, cert: stored.cert, key: stored.key };
  const made = await makeInWorker({ names: [...names], ...(stored === undefined || !lasting(stored.ca) ? {} : { ca: stored.ca, caKey: stored.caKey }) });
  const file = join(folder, 'echo-certificate.json');
  await writeFile(`${file}.new`, JSON.stringify(made), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return { ca: made.ca, cert: made.cert, key: made.key };
}

export type StoredCertificate = EchoCertificate & { readonly caKey: string };
export interface CertificateOrder {
  readonly names: readonly string[];
  /** An existing CA to sign with; a new one is made without it. */
  readonly ca?: string;
  readonly caKey?: string;
}

async function readStored(folder: string): Promise<StoredCertificate | undefined> {
  try {
    const stored = JSON.parse(await readFile(join(folder, 'echo-certificate.json'), 'utf8')) as Partial<StoredCertificate>;
    const { ca, caKey, cert, key } = stored;
    return ca === undefined || caKey === undefined || cert === undefined || key === undefined ? undefined : { ca, caKey, cert, key };
  } catch (error) {
    // Not there yet, or cut off while it was written: a new one is made.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const lasting = (pem: string): boolean => Date.parse(new X509Certificate(pem).validTo) - Date.now() > renewBeforeMs;

function covers(pem: string, names: readonly string[]): boolean {
  const certificate = new X509Certificate(pem);
  return lasting(pem) && names.every((name) => (isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined);
}

/** In a thread of its own: the library takes some 15 MiB, which a runner that may idle for months must not keep. */
async function makeInWorker(order: CertificateOrder): Promise<StoredCertificate> {
  const worker = new Worker(builtFile('echo/certificate-worker'), { workerData: order, execArgv: [] });
  try {
    return await new Promise<StoredCertificate>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`the certificate was not made: its thread ended with ${code}`)));
    });
  } finally {
    await worker.terminate();
  }
}
