import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../built-file.ts';

/** PEM texts of the HTTPS side of the echo target. The CA is the runner's own; nobody else trusts it unless told to. */
export interface EchoCertificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const makerPriority = 10;
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
  const made = await makeInProcess({ names: [...names], ...(stored === undefined || !lasting(stored.ca) ? {} : { ca: stored.ca, caKey: stored.caKey }) });
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

/**
 * In a process of its own: the library takes some 15 MiB, which a runner that may idle for months must not keep (a thread leaves
 * most of that behind).
 */
async function makeInProcess(order: CertificateOrder): Promise<StoredCertificate> {
  const child = spawn(process.execPath, [fileURLToPath(builtFile('echo/certificate-maker'))], { stdio: 'pipe', env: {} });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  const gone = exited.then(() => undefined, () => undefined);
  try {
    // Not started, it may have no streams; why is the rejection.
    if (child.pid === undefined) await exited;
    else stepBack(child.pid);
    // It ended before it had read the order: its exit code and what it wrote tell why.
    child.stdin.on('error', () => undefined);
    child.stdin.end(JSON.stringify(order));
    const [code, made, problem] = await Promise.all([exited, text(child.stdout), text(child.stderr)]);
    if (code !== 0) throw new Error(`the certificate of the echo target was not made: ${problem}`);
    return JSON.parse(made) as StoredCertificate;
  } finally {
    // Whatever failed: it would wait for its order for ever.
    child.kill('SIGKILL');
    await gone;
  }
}

/** Many runners may start at the same time, and what they measure matters more. It is made all the same where that may not be chosen. */
function stepBack(pid: number): void {
  try {
    // Less nice than this process it may not become.
    setPriority(pid, Math.max(makerPriority, getPriority()));
  } catch {
    // It runs as this process does.
  }
}
