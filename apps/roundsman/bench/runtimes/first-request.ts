import type { Pod, Round, Runner, Runtime } from '@roundsman/api';
import type { Gateway, Told } from '../gateway.ts';
import type { Target } from './target.ts';
import { createTask, gone, tasksPath } from './task.ts';

/** What has to happen until a task's first request, in this order; milliseconds since its creation was asked for. */
export const steps = ['accepted', 'runtime', 'workload', 'pods', 'placed', 'running', 'ready', 'heard', 'settled', 'round', 'request'] as const;
export type Step = (typeof steps)[number];
export type Timeline = Readonly<Record<Step, number>>;

export const stepNames: Readonly<Record<Step, string>> = {
  accepted: 'its creation is answered',
  runtime: 'its Runtime is there',
  workload: 'its DaemonSet is there',
  pods: 'all pods are there',
  placed: 'all pods have a node',
  running: 'all pods are Running',
  ready: 'all pods are Ready',
  heard: 'all runners were heard',
  settled: 'the Runtime has settled',
  round: 'the Round is there',
  request: 'the first request is counted by its target',
};

const now = (): number => performance.timeOrigin + performance.now();
const isReady = ({ status }: Pod): boolean => status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** One task with a DaemonSet on all nodes, from its creation to its first request, then removed. */
export async function firstRequest(gateway: Gateway, target: Target, name: string, nodes: number): Promise<Timeline> {
  const at = new Map<Step, number>();
  const mark = (step: Step): void => void (at.has(step) || at.set(step, now()));
  const counts = new Map<Step, Set<string>>();
  /** Once every node has it. */
  const each = (step: Step, of: string): void => {
    const seen = counts.get(step) ?? new Set();
    counts.set(step, seen.add(of));
    if (seen.size === nodes) mark(step);
  };
  // The task's uid is not known before it is there: by its name, which no other task has.
  const own = (object: Told): boolean => object.metadata.name.includes(`-${name}-`);
  const ends = await Promise.all([
    gateway.watch<Runtime & Told>('/apis/roundsman.io/v1/namespaces/default/runtimes', ({ spec, status }) => {
      if (spec.task?.name !== name) return;
      mark('runtime');
      if (status?.settledAt !== undefined) mark('settled');
    }),
    gateway.watch<Told>('/apis/apps/v1/namespaces/default/daemonsets', (one) => own(one) && mark('workload')),
    gateway.watch<Pod & Told>('/api/v1/namespaces/default/pods', (pod) => {
      if (!own(pod)) return;
      const of = pod.metadata.name;
      each('pods', of);
      if (pod.spec.nodeName !== undefined) each('placed', of);
      if (pod.status?.phase === 'Running') each('running', of);
      if (isReady(pod)) each('ready', of);
    }),
    gateway.watch<Runner & Told>('/apis/roundsman.io/v1/runners', (runner) => own(runner) && runner.status?.ready === true && each('heard', runner.metadata.name)),
    gateway.watch<Round & Told>('/apis/roundsman.io/v1/namespaces/default/rounds', ({ spec }) => spec.taskRef.name === name && mark('round')),
  ]);
  const from = now();
  const created = await createTask(gateway, target, name, { qps: 5, seconds: 1 });
  mark('accepted');
  const { firstMs } = await target.reached(name, 1);
  for (const end of ends) end();
  await gateway.delete(`${tasksPath}/${name}`);
  await gone(gateway, created);
  at.set('request', firstMs);
  return Object.fromEntries(steps.map((step) => [step, (at.get(step) ?? Number.NaN) - from])) as unknown as Timeline;
}
