import { taskKinds, taskLabels, taskResources, type AnyTask, type Round, type Runner, type TaskKind } from '@roundsman/api';
import { Informer, type ChangeFeed, type ObjectSource } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { Logger } from 'pino';

export type Task = AnyTask;

/** Committed objects, read past the caches where being a moment behind would matter. */
export type Reader = ObjectSource & Pick<Store, 'get'>;

/** What the scheduler reads: tasks, their rounds, the runners. Kept by the standby too, so that it can take over at once. */
export class Caches {
  readonly tasks: ReadonlyMap<TaskKind, Informer<Task>>;
  readonly rounds: Informer<Round>;
  readonly runners: Informer<Runner>;
  /** Milliseconds; when a task's generation was seen to change. Not known for changes while this process was away. */
  readonly #changed = new Map<string, number>();

  constructor(
    readonly reader: Reader,
    feed: Pick<ChangeFeed, 'follow'>,
    log: Logger,
  ) {
    const source: ObjectSource = reader;
    this.tasks = new Map(taskKinds.map((kind) => [kind, new Informer<Task>({ source, feed, resource: taskResources[kind], log })]));
    this.rounds = new Informer<Round>({ source, feed, resource: 'rounds.roundsman.io', labels: [taskLabels.uid], log });
    this.runners = new Informer<Runner>({ source, feed, resource: 'runners.roundsman.io', log });
    for (const informer of this.tasks.values()) {
      informer.onChange(({ type, object, before }) => {
        if (type === 'DELETED') this.#changed.delete(object.metadata.uid);
        else if (before !== undefined && before.metadata.generation !== object.metadata.generation) this.#changed.set(object.metadata.uid, Date.now());
      });
    }
  }

  get #all(): { start(): Promise<void>; stop(): Promise<void>; problem(): string | undefined }[] {
    return [...this.tasks.values(), this.rounds, this.runners];
  }

  async start(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((informer) => informer.stop()));
  }

  problem(): string | undefined {
    for (const informer of this.#all) {
      const problem = informer.problem();
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  changedMs(uid: string): number | undefined {
    return this.#changed.get(uid);
  }

  taskByUid(kind: TaskKind, uid: string): Task | undefined {
    return this.tasks.get(kind)?.byUid(uid);
  }

  roundsOf(taskUid: string): Round[] {
    return this.rounds.byLabel(taskLabels.uid, taskUid);
  }

  runnersOf(runtime: string): Runner[] {
    return this.runners.list().filter(({ status }) => status?.runtime === runtime);
  }
}

/** `NetReach/default/name`. */
export const taskKey = (kind: string, namespace: string | undefined, name: string): string => `${kind}/${namespace ?? ''}/${name}`;
export function parseTaskKey(key: string): { kind: TaskKind; namespace: string; name: string } {
  const [kind = '', namespace = '', name = ''] = key.split('/');
  return { kind: kind as TaskKind, namespace, name };
}
/** `default/name`. */
export const roundKey = ({ metadata }: Pick<Round, 'metadata'>): string => `${metadata.namespace ?? ''}/${metadata.name}`;
