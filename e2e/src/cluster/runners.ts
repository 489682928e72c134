import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { natsService } from '@roundsman/api';
import { serverCertificate } from '@roundsman/gateway';

const root = dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));

export interface RunnerImage {
  /** `name:tag`, of this build. */
  readonly reference: string;
  readonly archive: string;
}

/** The image of the probe-runner as `pnpm image` makes it of what is built; seconds the first time, then it lies there. */
export async function runnerImage(): Promise<RunnerImage> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'deploy', 'images', 'build.mjs'), '--if-needed', '--json'], { timeout: 120_000 });
  const { image, archive } = JSON.parse(stdout) as { image: string; archive: string };
  return { reference: image, archive };
}

/** Certificate of NATS under the name that runners in pods call it by, and the authority that they trust, as files in a folder. */
export async function natsCertificate(folder: string): Promise<{ certFile: string; keyFile: string; caFile: string }> {
  const name = `${natsService.name}.${natsService.namespace}.svc`;
  await serverCertificate({ tlsFolder: folder }, [name, `${name}.cluster.local`]);
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), caFile: join(folder, 'ca.crt') };
}
