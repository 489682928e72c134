import { kindByResource, resourceKey, taskResources, views, type Kind, type KubeObject, type TaskKind, type TaskStatus } from '@roundsman/api';
import type { KdoctorTask } from '@roundsman/reports';
import type { Store } from '@roundsman/store';

/** The stored tasks, as reports are looked up by them: a report belongs to a task that exists. */
export class Tasks {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Newest version of stored objects. */
  head(): Promise<number> {
    return this.#store.head();
  }

  /** All tasks of a namespace, or of all, by kind. */
  async list(namespace: string | undefined): Promise<{ kind: TaskKind; object: KubeObject }[]> {
    const found: { kind: TaskKind; object: KubeObject }[] = [];
    for (const [kind, resource] of entries) {
      let place: string | undefined;
      do {
        const page = await this.#store.page(resource, { namespace, limit: 1000, continue: place });
        found.push(...page.items.map((object) => ({ kind, object })));
        place = page.continue;
      } while (place !== undefined);
    }
    return found;
  }

  /** The task behind a report called `<kind>-<task>`. */
  async ofReport(namespace: string | undefined, report: string): Promise<{ kind: TaskKind; object: KubeObject } | undefined> {
    const dash = report.indexOf('-');
    const entry = entries.find(([kind]) => kind.toLowerCase() === report.slice(0, dash));
    if (!entry) return undefined;
    const object = await this.#store.get(entry[1], namespace, report.slice(dash + 1));
    return object && { kind: entry[0], object };
  }
}

const entries = Object.entries(taskResources) as [TaskKind, string][];
export const taskKindOf = (resource: string): TaskKind | undefined => entries.find(([, held]) => held === resource)?.[0];

/** A task as kdoctor's report shows it. */
export function kdoctorTask(kind: TaskKind, object: KubeObject): KdoctorTask {
  const { name, uid, creationTimestamp } = object.metadata;
  const resource = resourceKey(kindByResource.get(taskResources[kind]) as Kind);
  const view = views.find((one) => one.resource === resource && one.group === 'kdoctor.io');
  const status = object.status as TaskStatus | undefined;
  return {
    uid,
    kind,
    name,
    creationTimestamp,
    spec: view ? view.toView(object).spec : object.spec,
    expectedRound: status?.expectedRound,
    doneRound: status?.doneRound,
    finished: status?.finish === true,
  };
}
