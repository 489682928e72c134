import type { KubeObject } from '@roundsman/api';
import { byKey, keysOf, onChange, objectKey, type Deps, type LoopDefinition } from '../loop.ts';

/** Removes events that were last seen longer ago than they are kept. */
export function oldEvents({ caches, objects, settings: { eventTtlMs } }: Deps): LoopDefinition {
  return {
    name: 'old-events',
    concurrency: 2,
    keys: keysOf(caches.events),
    wakes: [onChange(caches.events, ({ type, object }) => (type === 'DELETED' ? [] : [objectKey(object)]))],
    async reconcile(key) {
      const event = byKey(caches.events, key);
      if (event === undefined) return undefined;
      const leftMs = lastSeenMs(event) + eventTtlMs - Date.now();
      if (leftMs > 0) return { againAfterMs: leftMs };
      await objects.delete(caches.events, event);
      return undefined;
    },
  };
}

function lastSeenMs(event: KubeObject): number {
  const { lastTimestamp, eventTime, series } = event as unknown as { lastTimestamp?: string | null; eventTime?: string | null; series?: { lastObservedTime?: string | null } | null };
  const ms = Date.parse(series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp);
  return Number.isNaN(ms) ? Date.parse(event.metadata.creationTimestamp) : ms;
}
