import { runtimeNameOf } from '@roundsman/api';
import type { Gateway, Told } from '../gateway.ts';
import type { Target } from './target.ts';

export const tasksPath = '/apis/roundsman.io/v1/namespaces/default/apphttphealthies';
const kind = 'AppHttpHealthy';

export interface Load {
  readonly qps: number;
  readonly seconds: number;
}

export interface Created {
  readonly name: string;
  /** Of its runtime, and of all that is made for it. */
  readonly runtime: string;
}

/** A task with a DaemonSet of its own, of one round that begins when that is ready. */
export async function createTask(gateway: Gateway, target: Target, name: string, { qps, seconds }: Load): Promise<Created> {
  const { metadata } = await gateway.post<Told>(tasksPath, {
    apiVersion: 'roundsman.io/v1',
    kind,
    metadata: { name },
    spec: {
      agentSpec: {},
      schedule: { roundNumber: 1, roundTimeoutSeconds: seconds + 60 },
      request: { qps, durationInSecond: seconds, perRequestTimeoutInMS: 5_000 },
      expect: { successRate: 1, meanAccessDelayInMs: 5_000 },
      target: { host: target.urlOf(name), method: 'GET' },
    },
  });
  return { name, runtime: runtimeNameOf(kind, name, metadata.uid) };
}

const made = [
  '/apis/apps/v1/namespaces/default/daemonsets',
  '/api/v1/namespaces/default/services',
  '/api/v1/namespaces/default/secrets',
  '/api/v1/namespaces/default/pods',
  '/apis/roundsman.io/v1/namespaces/default/runtimes',
];

/** Returns when neither the task nor anything that was made for it is there. */
export async function gone(gateway: Gateway, { name, runtime }: Created): Promise<void> {
  for (;;) {
    const all = (await Promise.all([tasksPath, ...made].map((path) => gateway.list<Told>(path)))).flat();
    if (!all.some(({ metadata }) => metadata.name === name || metadata.name === runtime || metadata.name.startsWith(`${runtime}-`))) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
