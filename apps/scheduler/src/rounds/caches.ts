import { systemNamespace, taskKinds, taskLabels, taskResources, type AnyTask, type Round, type Runner, type Runtime, type TaskKind } from '@roundsman/api';
import type { Informer, Replica } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';

export type Task = AnyTask;

/** Committed objects, read past the caches where being a moment behind would matter. */
export type Reader = Pick<Store, 'get'>;

/** What the scheduler reads: tasks, their rounds, the runners and runtimes. Kept by the standby too, so that it can take over at once. */
export class Caches {
  readonly tasks: ReadonlyMap<TaskKind, Informer<Task>>;
  readonly rounds: Informer<Round>;
  readonly runners: Informer<Runner>;
  readonly runtimes: Informer<Runtime>;
  readonly #replica: Pick<Replica, 'problem'>;
  /** Milliseconds; when a task's generation was seen to change. Not known for changes while this process was away. */
  readonly #changed = new Map<string, number>();

  constructor(
    readonly reader: Reader,
    replica: Pick<Replica, 'informer' | 'problem'>,
  ) {
    this.#replica = replica;
    this.tasks = new Map(taskKinds.map((kind) => [kind, replica.informer<Task>(taskResources[kind])]));
    this.rounds = replica.informer<Round>('rounds.roundsman.io', [taskLabels.uid]);
    this.runners = replica.informer<Runner>('runners.roundsman.io', [], { runtime: ({ status }) => status?.runtime });
    this.runtimes = replica.informer<Runtime>('runtimes.roundsman.io', [], { task: ({ spec }) => spec.task?.uid });
    for (const informer of this.tasks.values()) {
      informer.onChange(({ type, object, before }) => {
        if (type === 'DELETED') this.#changed.delete(object.metadata.uid);
        else if (before !== undefined && before.metadata.generation !== object.metadata.generation) this.#changed.set(object.metadata.uid, Date.now());
      });
    }
  }

  /** Why they are not current. */
  problem(): string | undefined {
    return this.#replica.problem();
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
    return this.runners.by('runtime', runtime);
  }

  runner(name: string): Runner | undefined {
    return this.runners.get(undefined, name);
  }

  defaultRuntime(name: string): Runtime | undefined {
    return this.runtimes.get(systemNamespace, name);
  }

  /** Those made for this task, one that is going away among them. */
  runtimesOf(taskUid: string): Runtime[] {
    return this.runtimes.by('task', taskUid);
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
