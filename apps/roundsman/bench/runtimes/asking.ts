// Asks the gateway all along, by the real kubectl and by requests as kubectl makes them: arguments are URL, file of the token and kubeconfig. Begins at
// once; when its input ends it prints an Asked as JSON.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds, of each. */
export interface Asked {
  /** Until the server's answer was there, by requests of this process. */
  readonly requests: number[];
  /** The same as kubectl says it (-v=6). */
  readonly answers: number[];
  /** `kubectl get` as a person waits for it. */
  readonly gets: number[];
  /** `kubectl version --client`: what it takes without a server. */
  readonly startUps: number[];
  /** Answers other than 200, and what kubectl said when it failed. */
  readonly problems: string[];
}

const [url = '', tokenFile = '', kubeconfig = ''] = process.argv.slice(2);
const kinds: readonly (readonly [kind: string, path: string])[] = [
  ['pods', '/api/v1/namespaces/default/pods?limit=500'],
  ['nodes', '/api/v1/nodes?limit=500'],
  ['daemonsets', '/apis/apps/v1/namespaces/default/daemonsets?limit=500'],
  ['services', '/api/v1/namespaces/default/services?limit=500'],
  ['apphttphealthies', '/apis/roundsman.io/v1/namespaces/default/apphttphealthies?limit=500'],
  ['runtimes', '/apis/roundsman.io/v1/namespaces/default/runtimes?limit=500'],
  ['rounds', '/apis/roundsman.io/v1/namespaces/default/rounds?limit=500'],
  ['reports', '/apis/roundsman.io/v1/namespaces/default/reports?limit=500'],
  ['events', '/api/v1/namespaces/default/events?limit=500'],
];
/** Pauses between two of a kind: both together take little of the machine that is measured. */
const requestPauseMs = 100;
const kubectlPauseMs = 500;

const versioned = '/usr/lib/google-cloud-sdk/bin/kubectl.1.32';
const kubectl = existsSync(versioned) ? versioned : 'kubectl';
const home = mkdtempSync(join(tmpdir(), 'roundsman-kubectl-'));
const headers = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}`, accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };
const asked: Asked = { requests: [], answers: [], gets: [], startUps: [], problems: [] };
const over = new AbortController();
process.stdin.resume().once('end', () => over.abort());

async function timed(into: number[], act: () => Promise<unknown>): Promise<void> {
  const from = performance.now();
  try {
    await act();
    into.push(performance.now() - from);
  } catch (error) {
    asked.problems.push((error as Error).message);
  }
}

const ran = (args: readonly string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile(kubectl, args, { env: { PATH: process.env['PATH'], HOME: home, KUBECONFIG: kubeconfig }, maxBuffer: 32 << 20 }, (error, _stdout, stderr) => (error === null ? resolve(stderr) : reject(error)));
  });

async function request(path: string): Promise<void> {
  const response = await fetch(url + path, { headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
}

async function get(kind: string): Promise<void> {
  const told = await ran(['get', kind, '-v=6']);
  for (const [, ms] of told.matchAll(/ 200 OK in (\d+) milliseconds/g)) asked.answers.push(Number(ms));
}

async function inTurn(pauseMs: number, act: (turn: number) => Promise<void>): Promise<void> {
  for (let turn = 0; !over.signal.aborted; turn += 1) {
    await act(turn);
    await sleep(pauseMs);
  }
}

// What kubectl keeps of the server's kinds is asked for once.
await ran(['get', 'nodes']);
await Promise.all([
  inTurn(requestPauseMs, (turn) => timed(asked.requests, () => request(kinds[turn % kinds.length]![1]))),
  inTurn(kubectlPauseMs, async (turn) => {
    await timed(asked.gets, () => get(kinds[turn % kinds.length]![0]));
    if (turn % 5 === 0) await timed(asked.startUps, () => ran(['version', '--client']));
  }),
]);
rmSync(home, { recursive: true, force: true });
console.log(JSON.stringify(asked));
