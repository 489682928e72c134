import { ensureStreams, onReconnect, type Bus } from '@roundsman/bus';
import { Controller } from '@roundsman/reconcile';
import type { Logger } from 'pino';
import type { Settings } from '../settings.ts';
import { roundKey, taskKey, type Caches } from './caches.ts';
import { Dispatcher, openRoundKeys } from './dispatcher.ts';
import type { RoundMetrics } from './metrics.ts';
import { Planner } from './planner.ts';
import { Running } from './running.ts';
import { WorkStream } from './work-stream.ts';

export interface LeadRoundsOptions {
  readonly bus: Bus;
  readonly caches: Caches;
  readonly settings: Settings;
  readonly metrics: RoundMetrics;
  readonly log: Logger;
}

/** What only the leader does with rounds: makes those that are due and brings their work to the runners, until `onEnd` is called. */
export async function leadRounds({ bus, caches, settings, metrics, log }: LeadRoundsOptions, onEnd: (end: () => unknown) => void, over: AbortSignal): Promise<void> {
  await ensureStreams(bus);
  const running = new Running({ bus, caches, log });
  onEnd(() => running.stop());
  await running.start();
  const planner = new Planner({ bus, caches, log, runtime: settings.runtime, settings, onRound: (trigger, late) => metrics.round(trigger, late) });
  const dispatcher = new Dispatcher({ bus, caches, running, log, republishMs: settings.republishMs, onSent: (late) => metrics.sent(late) });
  const workStream = new WorkStream({ bus, caches, log });

  const loop = (name: string, reconcile: (key: string) => Promise<{ againAfterMs?: number } | void>, keys: () => string[], concurrency: number): Controller =>
    new Controller({ name, reconcile, keys, concurrency, log, backOff: { baseMs: 50, maxMs: 5_000 }, onLook: (seconds, ok) => metrics.look(name, seconds, ok) });
  const taskKeys = (): string[] => [...caches.tasks.values()].flatMap((informer) => informer.list().map(({ kind, metadata }) => taskKey(kind, metadata.namespace, metadata.name)));
  const tasks = loop('tasks', planner.reconcile, taskKeys, 8);
  const rounds = loop('rounds', dispatcher.reconcile, () => openRoundKeys(caches), 16);
  const consumers = loop('consumers', workStream.reconcile, () => caches.runners.list().map(({ metadata }) => metadata.name), 4);
  const sweeps = loop('sweep', async () => (await workStream.sweep(), { againAfterMs: settings.sweepMs }), () => ['work'], 1);

  const off = [
    ...[...caches.tasks.values()].map((informer) =>
      informer.onChange(({ type, object: { kind, metadata } }) => {
        tasks.wake(taskKey(kind, metadata.namespace, metadata.name));
        if (type === 'DELETED') for (const round of caches.roundsOf(metadata.uid)) rounds.wake(roundKey(round));
      }),
    ),
    caches.rounds.onChange(({ object }) => {
      const { kind, namespace, name } = object.spec.taskRef;
      tasks.wake(taskKey(kind, namespace, name));
      rounds.wake(roundKey(object));
    }),
    caches.runners.onChange(({ type, object, before }) => {
      if (type !== 'MODIFIED') consumers.wake(object.metadata.name);
      if (object.status?.ready !== before?.status?.ready) for (const key of planner.waiting()) tasks.wake(key);
    }),
    caches.runtimes.onChange(({ type, object: { spec, status }, before }) => {
      const listed = new Set(type === 'DELETED' ? [] : status?.runners.map(({ runner }) => runner));
      planner.forget((before?.status?.runners ?? []).flatMap(({ runner }) => (listed.has(runner) ? [] : [runner])));
      if (spec.task !== undefined) tasks.wake(taskKey(spec.task.kind, spec.task.namespace, spec.task.name));
      else for (const key of planner.waiting()) tasks.wake(key);
    }),
    onReconnect(bus, () => {
      // The server may have come back with an empty store.
      dispatcher.renew();
      // Whoever failed meanwhile should not wait for the end of its back-off.
      for (const key of taskKeys()) tasks.wake(key);
      for (const { metadata } of caches.runners.list()) consumers.wake(metadata.name);
      for (const key of openRoundKeys(caches)) rounds.wake(key);
    }),
  ];
  const all = [consumers, tasks, rounds, sweeps];
  onEnd(() => Promise.all(all.map((controller) => controller.stop())));
  onEnd(() => off.forEach((end) => end()));
  over.throwIfAborted();
  for (const controller of all) controller.start();
  metrics.follow(() => ({ depth: all.reduce((sum, { depth }) => sum + depth, 0), failing: all.reduce((sum, { failing }) => sum + failing, 0), open: openRoundKeys(caches).length }));
}
