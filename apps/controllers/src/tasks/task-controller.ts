import { taskKinds, type TaskKind } from '@roundsman/api';
import { DnsServers } from '../dns-servers/dns-servers.ts';
import { onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { occurrencesOf } from './occurrences.ts';
import { tellOnce } from './task-events.ts';
import { statusChangesAtMs, taskStatusOf } from './task-status.ts';

/** `NetReach/default/name`. */
const taskKey = (kind: string, namespace: string | undefined, name: string): string => `${kind}/${namespace ?? ''}/${name}`;

/** Folds a task's rounds into its status, and tells of them in Events. */
export function taskStatus(deps: Deps): LoopDefinition {
  const { caches, objects, settings: { runtime, eventTtlMs } } = deps;
  const dnsServers = new DnsServers(deps);
  return {
    name: 'task-status',
    concurrency: 8,
    keys: () => taskKinds.flatMap((kind) => caches.tasks[kind].list().map(({ metadata }) => taskKey(kind, metadata.namespace, metadata.name))),
    wakes: [
      ...taskKinds.map((kind) => onChange(caches.tasks[kind], ({ object: { metadata } }) => [taskKey(kind, metadata.namespace, metadata.name)])),
      onChange(caches.rounds, ({ object: { spec } }) => [taskKey(spec.taskRef.kind, spec.taskRef.namespace, spec.taskRef.name)]),
      dnsServers.wakes(({ kind, metadata }) => taskKey(kind, metadata.namespace, metadata.name)),
    ],
    async reconcile(key) {
      const [kind = '', namespace = '', name = ''] = key.split('/');
      const informer = caches.tasks[kind as TaskKind];
      const task = informer.get(namespace, name);
      if (task === undefined) return undefined;
      const nowMs = Date.now();
      const rounds = caches.roundsOf(task.metadata.uid);
      const written = await objects.updateStatus(informer, task, dnsServers.into(task, taskStatusOf(task, rounds, runtime, nowMs), nowMs));
      // Older happenings are not told any more.
      for (const occurrences of occurrencesOf(task, rounds, nowMs, nowMs - eventTtlMs).values()) await tellOnce(objects, caches.events, task, occurrences);
      const atMs = statusChangesAtMs(written, rounds, nowMs);
      return atMs === undefined ? undefined : { againAfterMs: atMs - Date.now() };
    },
  };
}
