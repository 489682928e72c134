import { spawn } from 'node:child_process';
import { commandIn, environment, type NetworkNamespace } from '../network-namespace.ts';

const longestMs = 30_000;

/** nft could not be run, or refused: with its own words. */
export class NftProblem extends Error {
  override readonly name = 'NftProblem';
  /** `missing`: there is no nft (or no nsenter); `forbidden`: not with the rights of this process; `gone`: the namespace; `refused`: what was asked for; `interrupted`: it took too long, or somebody ended it. */
  readonly kind: 'missing' | 'forbidden' | 'gone' | 'refused' | 'interrupted';

  constructor(kind: NftProblem['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** Runs nft in a namespace, once; `script` is its standard input, and one transaction. */
export function nft(namespace: NetworkNamespace, args: readonly string[], script = ''): Promise<string> {
  const [program, all] = commandIn(namespace, 'nft', args);
  return new Promise((resolve, reject) => {
    const child = spawn(program, all, { stdio: ['pipe', 'pipe', 'pipe'], timeout: longestMs, env: environment() });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.on('error', (error: NodeJS.ErrnoException) => reject(problemOf(program, error.code === 'ENOENT' ? 'ENOENT' : error.message)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(Buffer.concat(out).toString('utf8'));
      else if (signal !== null) reject(new NftProblem('interrupted', `nft was ended by ${signal}: it may take ${longestMs / 1_000} s`));
      else reject(problemOf(program, Buffer.concat(err).toString('utf8').trim() || `ended with ${code}`));
    });
    // It may end before it has read all; what it said is told by its end.
    child.stdin.on('error', () => undefined);
    child.stdin.end(script);
  });
}

function problemOf(program: string, said: string): NftProblem {
  if (said === 'ENOENT' || /failed to execute nft/.test(said)) return new NftProblem('missing', `${said.includes('nft') ? 'nft' : program} is not installed (Debian, Ubuntu: apt-get install ${program === 'nsenter' ? 'util-linux ' : ''}nftables)`);
  const short = said.length > 2_000 ? `${said.slice(0, 2_000)} …` : said;
  if (said.startsWith('nsenter: cannot open') && said.includes('No such file')) return new NftProblem('gone', `the network namespace is gone: ${short.split('\n')[0]}`);
  if (/Operation not permitted|Permission denied/.test(said)) return new NftProblem('forbidden', `nft is not allowed to change rules here: ${short.split('\n')[0]}`);
  return new NftProblem('refused', short);
}
