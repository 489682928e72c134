import { taskLabels, taskResources, type KubeObject, type TaskKind } from '@roundsman/api';
import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { ChangeFeed, Following } from '@roundsman/reconcile';
import { reportUid, type ReportChange, type Reports } from '@roundsman/reports';
import type { EventSink, EventSource, ObjectEvent } from './reader.ts';
import { taskKindOf, type Tasks } from './tasks.ts';

const pageSize = 200;
/** Milliseconds between looks at the tables when no message woke us: a report message may be late or lost. */
const lookMs = 5_000;

interface Watcher {
  cursor: number;
  stopped: boolean;
  /** A look is on its way; another one was asked for meanwhile. */
  looking: boolean;
  again: boolean;
  readonly sink: EventSink;
  readonly eventsOf: (change: ReportChange) => Promise<ObjectEvent | undefined>;
}

/** Watches over reports: report messages say when to look, the report tables say what happened since. */
export class ReportFeed {
  readonly #bus: Bus;
  readonly #reports: Reports;
  readonly #tasks: Tasks;
  readonly #changes: ChangeFeed;
  readonly #log: { warn(fields: object, message: string): void };
  readonly #watchers = new Set<Watcher>();
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: { bus: Bus; reports: Reports; tasks: Tasks; changes: ChangeFeed; log: { warn(fields: object, message: string): void } }) {
    this.#bus = parts.bus;
    this.#reports = parts.reports;
    this.#tasks = parts.tasks;
    this.#changes = parts.changes;
    this.#log = parts.log;
  }

  async start(onReport: (report: { kind: string; namespace: string; task: string }) => void): Promise<void> {
    // What was closed before is in the tables, and no news.
    this.#subscription = await this.#bus.replay(messages.report, {}, { afterSeq: 'now' }, ({ payload }) => {
      onReport(payload);
      this.#lookAll();
    });
    this.#timer = setInterval(() => this.#lookAll(), lookMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const watcher of this.#watchers) watcher.stopped = true;
    this.#watchers.clear();
    await this.#subscription?.stop();
  }

  /** Every round: added when it closes, deleted by retention. */
  followRounds(namespace: string | undefined, since: number, sink: EventSink): EventSource {
    return this.#follow(since, sink, async (change) => {
      if (change.type === 'closed') return inNamespace(namespace, { type: 'ADDED', version: change.version, object: change.report as unknown as KubeObject });
      const { kind, task, taskUid, round, name, version } = change;
      return inNamespace(namespace, { type: 'DELETED', version, object: gone('RoundReport', { name, namespace: change.namespace, version, kind, task, taskUid, round }) });
    });
  }

  /** The last round of each task: modified by every close, deleted with its task. */
  followLatest(namespace: string | undefined, since: number, sink: EventSink): EventSource {
    const deleted = new Set<string>();
    // What was read before its task was deleted comes too late: nobody would take it back.
    const event = (one: ObjectEvent): void => void (deleted.has(one.object.metadata.uid) || sink.event(one));
    const source = this.#follow(since, { ...sink, event }, (change) => this.#latestEvent(namespace, change));
    const deletions = this.#followDeletions(namespace, { ...sink, event: (one) => (deleted.add(one.object.metadata.uid), sink.event(one)) }, () => source.position);
    return {
      get position() {
        return source.position;
      },
      stop: () => {
        source.stop();
        for (const one of deletions) one.stop();
      },
    };
  }

  async #latestEvent(namespace: string | undefined, change: ReportChange): Promise<ObjectEvent | undefined> {
    const { kind, namespace: held, task, taskUid } = change.type === 'closed' ? { ...change.report.status, namespace: change.report.metadata.namespace } : change;
    const found = await this.#tasks.ofReport(held, `${kind.toLowerCase()}-${task}`);
    // A report of a deleted task is only in roundreports.
    if (found?.object.metadata.uid !== taskUid) return undefined;
    const { items } = await this.#reports.listLatest([taskUid]);
    const [latest] = items;
    const { version } = change;
    if (latest === undefined) return inNamespace(namespace, { type: 'DELETED', version, object: gone('Report', { name: `${kind.toLowerCase()}-${task}`, namespace: held, version, kind, task, taskUid, round: 0 }) });
    if (change.type === 'removed') return undefined;
    return inNamespace(namespace, { type: latest.status.round === 1 ? 'ADDED' : 'MODIFIED', version, object: latest as unknown as KubeObject });
  }

  #followDeletions(namespace: string | undefined, sink: EventSink, position: () => number): { stop(): void }[] {
    let stopped = false;
    const followings: Following[] = [];
    // Only what is deleted from now on matters: the list that the watch began with had only existing tasks.
    void this.#tasks.head().then((since) => {
      for (const resource of Object.values(taskResources)) {
        if (stopped) return;
        followings.push(
          this.#changes.follow({
            resource,
            since,
            change: ({ type, namespace: held, name, uid }) => {
              const kind = taskKindOf(resource);
              if (type !== 'DELETED' || kind === undefined || (namespace !== undefined && namespace !== held)) return;
              const version = position();
              sink.event({ type: 'DELETED', version, object: gone('Report', { name: `${kind.toLowerCase()}-${name}`, namespace: held, version, kind, task: name, taskUid: uid, round: 0 }) });
            },
            relist: sink.expired,
          }),
        );
      }
    }, (error: unknown) => sink.expired(String(error)));
    return [{ stop: () => ((stopped = true), followings.forEach((one) => one.stop())) }];
  }

  #follow(since: number, sink: EventSink, eventsOf: Watcher['eventsOf']): EventSource {
    const watcher: Watcher = { cursor: since, stopped: false, looking: false, again: false, sink, eventsOf };
    this.#watchers.add(watcher);
    this.#look(watcher);
    return {
      get position() {
        return watcher.cursor;
      },
      stop: () => {
        watcher.stopped = true;
        this.#watchers.delete(watcher);
      },
    };
  }

  #lookAll(): void {
    for (const watcher of this.#watchers) this.#look(watcher);
  }

  #look(watcher: Watcher): void {
    if (watcher.looking) {
      watcher.again = true;
      return;
    }
    watcher.looking = true;
    void this.#read(watcher)
      // The next look, a few seconds from now, goes on from the same place.
      .catch((error: unknown) => this.#log.warn({ err: error }, 'cannot read what happened to reports; trying again'))
      .finally(() => {
        watcher.looking = false;
        if (watcher.again && !watcher.stopped) {
          watcher.again = false;
          this.#look(watcher);
        }
      });
  }

  async #read(watcher: Watcher): Promise<void> {
    for (let more = true; more && !watcher.stopped; ) {
      const page = await this.#reports.changes(watcher.cursor, pageSize);
      for (const change of page.changes) {
        const event = await watcher.eventsOf(change);
        if (watcher.stopped) return;
        watcher.cursor = change.version;
        if (event) watcher.sink.event(event);
      }
      more = page.more;
      await watcher.sink.ready();
    }
  }
}

const inNamespace = (namespace: string | undefined, event: ObjectEvent): ObjectEvent | undefined => (namespace === undefined || event.object.metadata.namespace === namespace ? event : undefined);

/** What is left of a report that is gone: enough to know which one it was. */
function gone(kind: 'Report' | 'RoundReport', of: { name: string; namespace: string; version: number; kind: TaskKind; task: string; taskUid: string; round: number }): KubeObject {
  const { name, namespace, version } = of;
  const uid = reportUid(of.taskUid, kind === 'Report' ? undefined : of.round);
  const labels = { [taskLabels.kind]: of.kind, [taskLabels.name]: of.task, [taskLabels.uid]: of.taskUid, [taskLabels.round]: String(of.round) };
  const metadata = { name, namespace, uid, resourceVersion: String(version), generation: 1, creationTimestamp: new Date(0).toISOString().replace('.000', ''), labels };
  return { apiVersion: 'roundsman.io/v1', kind, metadata, spec: {} };
}
