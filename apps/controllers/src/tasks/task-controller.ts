import { taskKinds, type TaskKind } from '@roundsman/api';
import { DnsServers } from '../dns-servers/dns-servers.ts';
import { onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { carrierOf } from './carrier.ts';
import { occurrencesOf } from './occurrences.ts';
import { tellOnce } from './task-events.ts';
import { taskKey } from './task-key.ts';
import { statusChangesAtMs, taskStatusOf } from './task-status.ts';

/** Folds a task's rounds into its status, and tells of them in Events. */
export function taskStatus(deps: Deps): LoopDefinition {
  const { caches, objects, settings } = deps;
  const dnsServers = new DnsServers(deps);
  const all = (): string[] => taskKinds.flatMap((kind) => caches.tasks[kind].list().map(({ metadata }) => taskKey(kind, metadata.namespace, metadata.name)));
  return {
    name: 'task-status',
    concurrency: 8,
    keys: all,
    wakes: [
      ...taskKinds.map((kind) => onChange(caches.tasks[kind], ({ object: { metadata } }) => [taskKey(kind, metadata.namespace, metadata.name)])),
      onChange(caches.rounds, ({ object: { spec } }) => [taskKey(spec.taskRef.kind, spec.taskRef.namespace, spec.taskRef.name)]),
      onChange(caches.runtimes, ({ object: { spec: { task }, status }, before, type }) => {
        if (task !== undefined) return [taskKey(task.kind, task.namespace, task.name)];
        // Of the one that carries all others only what their statuses tell.
        return type === 'MODIFIED' && before?.status?.phase === status?.phase ? [] : all();
      }),
      dnsServers.wakes(({ kind, metadata }) => taskKey(kind, metadata.namespace, metadata.name)),
    ],
    async reconcile(key) {
      const [kind = '', namespace = '', name = ''] = key.split('/');
      const informer = caches.tasks[kind as TaskKind];
      const task = informer.get(namespace, name);
      if (task === undefined) return undefined;
      const nowMs = Date.now();
      const rounds = caches.roundsOf(task.metadata.uid);
      const written = await objects.updateStatus(informer, task, dnsServers.into(task, taskStatusOf(task, rounds, carrierOf(task, caches, deps), nowMs, settings), nowMs));
      // Older happenings are not told any more.
      for (const occurrences of occurrencesOf(task, rounds, nowMs, nowMs - settings.eventTtlMs).values()) await tellOnce(objects, caches.events, task, occurrences);
      const atMs = statusChangesAtMs(written, rounds, nowMs);
      return atMs === undefined ? undefined : { againAfterMs: atMs - Date.now() };
    },
  };
}
