import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@roundsman/testkit';
import { kubectlPath, type KubectlCluster } from './kubectl-cluster.ts';

/** A kubectl that watches (`get -w`, `wait`), begun and not ended yet. */
export interface Watching {
  /** What it has printed so far. */
  readonly stdout: () => string;
  /** Its exit code, when it ends by itself. */
  readonly ended: Promise<number | null>;
  stop(): Promise<void>;
}

/** Resolves when its watch is open: what happens from now on, it sees. */
export async function watching(cluster: KubectlCluster, args: readonly string[]): Promise<Watching> {
  // Told its requests, to know when the watch is answered.
  const child = spawn(kubectlPath(), [...args, '-v=6'], { env: cluster.kubectlEnv() });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const stop = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  await eventually(() => {
    if (!/GET \S*watch=true\S* 200 OK/.test(stderr)) throw new Error(`kubectl ${args.join(' ')} does not watch yet:\n${stdout}${stderr}`);
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { stdout: () => stdout, ended, stop };
}
