import { spawn } from 'node:child_process';
import type { NetworkNamespace } from '../../services/network-namespace.ts';

/** Part of a shell script that runs in one network namespace; its first command that fails ends all. */
export interface Step {
  readonly in: NetworkNamespace;
  readonly script: string;
}

/** What the kernel, or a program that asks it, has refused: in its words. */
export class KernelProblem extends Error {
  override readonly name = 'KernelProblem';
}

/** The agent's own namespace. */
export const here: NetworkNamespace = { path: undefined };
export const namespaceOf = (pid: number): NetworkNamespace => ({ path: `/proc/${pid}/ns/net` });

/** Commands of `ip`, in one run of it. */
export const ip = (...lines: readonly string[]): string => (lines.length === 0 ? ':' : `ip -batch - <<'IP'\n${lines.join('\n')}\nIP`);
/** The same, where each may find nothing to do. */
export const ipAnyhow = (...lines: readonly string[]): string => (lines.length === 0 ? ':' : `ip -force -batch - >/dev/null 2>&1 <<'IP' || :\n${lines.join('\n')}\nIP`);
/** Sets what is below /proc/sys/net, where the kernel has it. */
export const sysctl = (name: string, value: string): string => `if [ -e /proc/sys/net/${name} ]; then echo ${value} >/proc/sys/net/${name}; fi`;

const within = 30_000;

/** Runs them one after the other, in one child process of this one; what they print. Throws KernelProblem. */
export async function runSteps(steps: readonly Step[]): Promise<string> {
  const script = steps.map(({ in: { path }, script: text }, index) => (path === undefined ? text : `nsenter --net=${path} -- sh -e <<'STEP${index}'\n${text}\nSTEP${index}`)).join('\n');
  const child = spawn('sh', ['-e'], { stdio: ['pipe', 'pipe', 'pipe'], timeout: within, env: { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` } });
  const printed: Buffer[] = [];
  const words: Buffer[] = [];
  child.stdout.on('data', (bytes: Buffer) => printed.push(bytes));
  child.stderr.on('data', (bytes: Buffer) => words.push(bytes));
  // Whoever ends early has said why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(script);
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code === 0) return Buffer.concat(printed).toString();
  const said = Buffer.concat(words).toString().replaceAll(/^Command failed -:\d+$/gm, '').trim().replaceAll(/\s*\n\s*/g, '; ');
  throw new KernelProblem(said === '' ? (code === null ? `no answer within ${within / 1000} s` : `a command ended with ${code}`) : said);
}
