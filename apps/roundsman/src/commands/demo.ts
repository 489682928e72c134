import { mkdtempSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LiveSample, ReportBody } from '@roundsman/api';
import { examples, type Example } from '../demo/example.ts';
import { paintFor, type Paint } from '../demo/paint.ts';
import { ProgressView, type TaskProgress } from '../demo/progress.ts';
import { reportPage } from '../demo/report-view.ts';
import { GatewayClient, GatewayError } from '../gateway-client.ts';
import { Home, type State } from '../home.ts';
import { endLeftovers } from '../leftovers.ts';
import { holderOf, releaseHome, takeHome } from '../lock.ts';
import { alive } from '../processes.ts';
import { UserError } from '../user-error.ts';

const nodes = 3;
const prefix = 'roundsman-demo-';
/** The examples' own round timeout, and time to close. */
const reportWithinMs = 60_000;

/** The whole way of a task in a home of its own that is gone afterwards. Rejects when a report is missing. */
export async function demo(): Promise<void> {
  await removeOldDemos();
  const paint = paintFor(process.stdout);
  const begun = Date.now();
  const home = new Home(mkdtempSync(join(tmpdir(), prefix)));
  const { Supervisor } = await import('../supervisor.ts');
  const cancel = new AbortController();
  home.create();
  takeHome(home);
  const supervisor = new Supervisor({ home, nodes, docker: 'off', ports: {}, network: {}, say: (text) => process.stderr.write(`${text}\n`), onFatal: (error) => cancel.abort(error) });
  const onSignal = (): void => cancel.abort(new UserError('stopped', undefined, { exitCode: 130 }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  try {
    const state = await supervisor.start();
    cancel.signal.throwIfAborted();
    const readyMs = Date.now() - begun;
    process.stderr.write(`Ready in ${seconds(readyMs)}: ${nodes} nodes with a runner each. Applying deploy/examples ...\n\n`);
    const reports = await runExamples(state, home.token(() => ''), cancel.signal);
    const columns = process.stdout.columns || 100;
    for (const report of reports) process.stdout.write(`\n${reportPage(report, paint, columns)}`);
    process.stdout.write(`\n${closing(paint, readyMs, Date.now() - begun - readyMs)}`);
  } finally {
    await supervisor.stop().finally(async () => {
      await endLeftovers(home);
      releaseHome(home);
      home.purge();
    });
  }
  process.exit(0);
}

/** Creates the tasks and follows them until each has its first report. */
async function runExamples(state: State, token: string, stop: AbortSignal): Promise<ReportBody[]> {
  const client = new GatewayClient(state.gateway, token);
  const wanted = examples();
  const tasks = new Map(wanted.map(({ kind, name }): [string, TaskProgress] => [`${kind}/${name}`, { label: `${kind} ${name}`, runners: nodes, samples: new Map(), state: 'waiting' }]));
  const ended = new AbortController();
  const both = AbortSignal.any([stop, ended.signal]);
  const following = follow(client, tasks, both);
  const view = new ProgressView(process.stderr, [...tasks.values()]);
  try {
    for (const { path, text } of wanted) await client.create(path, text);
    view.start();
    return await Promise.all(
      wanted.map(async (example) => {
        const report = await reportOf(client, example, stop);
        tasks.get(`${example.kind}/${example.name}`)!.state = report.state === 'succeed' ? 'done' : 'failed';
        return report;
      }),
    );
  } finally {
    view.stop();
    ended.abort();
    await following;
  }
}

/** Keeps the latest sample of every runner. Progress is for the eye: a stream that breaks ends it, the reports still come. */
async function follow(client: GatewayClient, tasks: ReadonlyMap<string, TaskProgress>, stop: AbortSignal): Promise<void> {
  try {
    for await (const { event, data } of client.events('/apis/roundsman.io/v1/live', stop)) {
      if (event !== 'sample') continue;
      const sample = data as LiveSample;
      const task = tasks.get(`${sample.kind}/${sample.task}`);
      if (!task || sample.round !== 1) continue;
      task.samples.set(sample.runner, sample);
      if (task.state === 'waiting') task.state = 'running';
    }
  } catch (error) {
    if (!stop.aborted) process.stderr.write(`The live stream ended: ${(error as Error).message}\n`);
  }
}

async function reportOf(client: GatewayClient, { kind, name, reportPath }: Example, stop: AbortSignal): Promise<ReportBody> {
  const deadline = Date.now() + reportWithinMs;
  for (;;) {
    stop.throwIfAborted();
    try {
      return (await client.get<{ status: ReportBody }>(reportPath)).status;
    } catch (error) {
      if (!(error instanceof GatewayError && error.code === 404)) throw error;
    }
    if (Date.now() > deadline) throw new UserError(`no report of ${kind} ${name} within ${reportWithinMs / 1000} s`, 'Run npx roundsman up and apply the example by hand to see why.');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Homes of demos that were killed: their processes and files. Only this user's own: anybody can make a folder of such a name. */
export async function removeOldDemos(folder = tmpdir()): Promise<void> {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(prefix))) {
    const home = new Home(join(folder, name));
    if (!home.private) continue;
    const holder = holderOf(home);
    if (holder === undefined || alive(holder)) continue;
    await endLeftovers(home);
    home.purge();
  }
}

function closing(paint: Paint, readyMs: number, runMs: number): string {
  return `${paint.bold('That was a whole run')}: ${seconds(readyMs)} to start, ${seconds(runMs)} for three tasks on ${nodes} nodes. Everything has been removed again.
Keep it running:  npx roundsman up        (prints how to use kubectl, curl and nats with it)
`;
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
