import { spawn } from 'node:child_process';
import { join } from 'node:path';
import type { AnyTask, ReportBody } from '@roundsman/api';
import type { Gateway, Told } from '../gateway.ts';
import type { Asked } from './asking.ts';
import type { SmallCluster } from './small-cluster.ts';
import type { Target } from './target.ts';
import { createTask, gone, tasksPath, type Load } from './task.ts';

const program = join(import.meta.dirname, 'asking.ts');
const sampleMs = 3_000;

export interface Concurrent {
  /** From the first creation until the last task has finished. */
  readonly seconds: number;
  /** Tasks whose round was carried by a runner on every node, and succeeded. */
  readonly whole: number;
  /** Requests by which what was planned, what is reported as sent and what the target counted differ, all tasks together. */
  readonly inexact: number;
  readonly requests: number;
  readonly asked: Asked;
  /** Highest memory of all processes, those in pods too, and the most pods at the time of a sample: MiB. */
  readonly peakMib: number;
  readonly pods: number;
}

/** So many tasks at once, each with a DaemonSet of its own; meanwhile the gateway is asked all along. */
export async function concurrentTasks(cluster: SmallCluster, target: Target, tasks: number, load: Load, nodes: number): Promise<Concurrent> {
  const { gateway } = cluster;
  const names = Array.from({ length: tasks }, (_, index) => `many${index + 1}`);
  const finished = new Set<string>();
  const all = Promise.withResolvers<void>();
  const end = await gateway.watch<AnyTask & Told>(tasksPath, ({ metadata, status }) => {
    if (status?.finish === true && names.includes(metadata.name)) finished.add(metadata.name);
    if (finished.size === tasks) all.resolve();
  });
  let peakMib = 0;
  let pods = 0;
  const sample = async (): Promise<void> => {
    const running = await cluster.containerPids();
    // Of each pod one holds its network, the other is the runner.
    pods = Math.max(pods, Math.floor(running.length / 2));
    peakMib = Math.max(peakMib, cluster.memoryMib(running));
  };
  const asking = startAsking(cluster);
  const sampling = setInterval(() => void sample(), sampleMs);
  const from = performance.now();
  const created = await Promise.all(names.map((name) => createTask(gateway, target, name, load)));
  await all.promise;
  const seconds = (performance.now() - from) / 1000;
  clearInterval(sampling);
  const asked = await asking();
  end();
  const totals = await Promise.all(names.map((name) => totalsOf(gateway, name)));
  const counted = await target.counted();
  await Promise.all(names.map((name) => gateway.delete(`${tasksPath}/${name}`)));
  for (const one of created) await gone(gateway, one);
  const planned = load.qps * load.seconds * nodes;
  return {
    seconds,
    whole: totals.filter(({ runners, sent }) => runners.ok === nodes && sent === planned).length,
    inexact: totals.reduce((sum, { planned: asPlanned, sent }, index) => sum + Math.abs(asPlanned - planned) + Math.abs(sent - planned) + Math.abs(sent - (counted[names[index]!]?.count ?? 0)), 0),
    requests: totals.reduce((sum, { sent }) => sum + sent, 0),
    asked,
    peakMib,
    pods,
  };
}

const totalsOf = async (gateway: Gateway, name: string): Promise<ReportBody['totals']> =>
  (await gateway.get<{ status: ReportBody }>(`/apis/roundsman.io/v1/namespaces/default/reports/apphttphealthy-${name}`)).status.totals;

/** Begins to ask; what comes back ends it and tells. */
function startAsking({ gateway, tokenFile, kubeconfig }: SmallCluster): () => Promise<Asked> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, gateway.url, tokenFile, kubeconfig], { stdio: ['pipe', 'pipe', 'inherit'] });
  let told = '';
  child.stdout.on('data', (part: Buffer) => (told += String(part)));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  return async () => {
    child.stdin.end();
    await ended;
    return JSON.parse(told) as Asked;
  };
}
