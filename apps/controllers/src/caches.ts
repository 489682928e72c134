import { taskKinds, taskLabels, taskResources, type AnyTask, type KubeObject, type Round, type Runner, type TaskKind } from '@roundsman/api';
import { Informer, type ChangeFeed } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';
import type { Logger } from 'pino';

/** What the controllers read. Kept by the standby too, so that it can take over at once. */
export class Caches {
  readonly tasks: ReadonlyMap<TaskKind, Informer<AnyTask>>;
  readonly rounds: Informer<Round>;
  readonly runners: Informer<Runner>;
  readonly nodes: Informer;
  readonly events: Informer;

  constructor(
    readonly store: Pick<Store, 'list' | 'changes' | 'get'>,
    feed: Pick<ChangeFeed, 'follow'>,
    log: Logger,
  ) {
    const informer = <T extends KubeObject>(resource: string, labels: string[] = []): Informer<T> => new Informer<T>({ source: store, feed, resource, labels, log });
    this.tasks = new Map(taskKinds.map((kind) => [kind, informer<AnyTask>(taskResources[kind])]));
    this.rounds = informer<Round>('rounds.roundsman.io', [taskLabels.uid]);
    this.runners = informer<Runner>('runners.roundsman.io');
    this.nodes = informer('nodes');
    this.events = informer('events');
  }

  get #all(): { start(): Promise<void>; stop(): Promise<void>; problem(): string | undefined }[] {
    return [...this.tasks.values(), this.rounds, this.runners, this.nodes, this.events];
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

  roundsOf(taskUid: string): Round[] {
    return this.rounds.byLabel(taskLabels.uid, taskUid);
  }

  taskByUid(uid: string): AnyTask | undefined {
    for (const informer of this.tasks.values()) {
      const task = informer.byUid(uid);
      if (task !== undefined) return task;
    }
    return undefined;
  }
}

/** `default/name`, `/name` for cluster-scoped objects. */
export const objectKey = ({ metadata }: Pick<KubeObject, 'metadata'>): string => `${metadata.namespace ?? ''}/${metadata.name}`;
/** `NetReach/default/name`. */
export const taskKey = (kind: string, namespace: string | undefined, name: string): string => `${kind}/${namespace ?? ''}/${name}`;
