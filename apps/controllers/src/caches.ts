import { taskKinds, taskLabels, taskResources, type AnyTask, type KubeObject, type Round, type Runner, type TaskKind } from '@roundsman/api';
import type { Informer, Replica } from '@roundsman/reconcile';
import type { Store } from '@roundsman/store';

/** What the controllers read. Kept by the standby too, so that it can take over at once. */
export class Caches {
  readonly tasks: ReadonlyMap<TaskKind, Informer<AnyTask>>;
  readonly rounds: Informer<Round>;
  readonly runners: Informer<Runner>;
  readonly nodes: Informer;
  readonly events: Informer;

  constructor(
    readonly store: Pick<Store, 'get'>,
    replica: Pick<Replica, 'informer'>,
  ) {
    this.tasks = new Map(taskKinds.map((kind) => [kind, replica.informer<AnyTask>(taskResources[kind])]));
    this.rounds = replica.informer<Round>('rounds.roundsman.io', [taskLabels.uid]);
    this.runners = replica.informer<Runner>('runners.roundsman.io');
    this.nodes = replica.informer('nodes');
    this.events = replica.informer('events');
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
