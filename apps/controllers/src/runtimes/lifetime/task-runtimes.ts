import { isDeepStrictEqual } from 'node:util';
import { runtimeFinalizer, taskAnnotations, taskKinds, type AgentSpec, type AnyTask, type Runtime, type TaskKind } from '@roundsman/api';
import { onChange, type Deps, type LoopDefinition } from '../../loop.ts';
import { withLists } from '../../owner.ts';
import { carrierOf } from '../../tasks/carrier.ts';
import { taskKey } from '../../tasks/task-key.ts';
import { chooseHostPorts, takenHostPorts } from '../manifests/ports.ts';
import { fateOf } from './fate.ts';
import { agentSpecOf, canHaveOwn, ownRuntimeOf, ownSpecOf } from './own-runtime.ts';

/**
 * Keeps a Runtime for each task with agentSpec, from its creation until it may go: first the finalizer on the task, then the Runtime; at the end
 * the Runtime, and when that is gone the finalizer. What belongs to a Runtime in the Kubernetes API is made and removed by `runtimes`.
 */
export function taskRuntimes({ caches, objects, recorder, cluster, settings }: Deps): LoopDefinition {
  const tell = recorder.from('runtime-controller');
  /** First ports by task, given in this term: the cache may not have heard of them yet. */
  const given = new Map<string, number>();
  const keyOfTask = ({ kind, metadata }: AnyTask): string => taskKey(kind, metadata.namespace, metadata.name);
  const concerns = (task: AnyTask): boolean => agentSpecOf(task) !== undefined || task.metadata.finalizers?.includes(runtimeFinalizer) === true;

  const setFinalizer = async (task: AnyTask, wanted: boolean): Promise<AnyTask> => {
    const { finalizers = [] } = task.metadata;
    if (finalizers.includes(runtimeFinalizer) === wanted) return task;
    const others = finalizers.filter((one) => one !== runtimeFinalizer);
    return objects.update(caches.tasks[task.kind as TaskKind], { ...task, metadata: withLists(task.metadata, { finalizers: wanted ? [...others, runtimeFinalizer] : others }) });
  };

  function hostPortFor({ metadata: { uid } }: AnyTask, { hostNetwork }: AgentSpec): number | undefined {
    if (hostNetwork !== true) return undefined;
    const port = given.get(uid) ?? chooseHostPorts(uid, new Set([...takenHostPorts(caches.runtimes.list()), ...given.values()]));
    given.set(uid, port);
    return port;
  }

  async function keep(task: AnyTask, agentSpec: AgentSpec, runtime: Runtime | undefined): Promise<void> {
    if (runtime === undefined) {
      const owner = await setFinalizer(task, true);
      const made = await objects.create(caches.runtimes, ownRuntimeOf(owner, agentSpec, settings, hostPortFor(task, agentSpec)));
      const { kind, workload } = made.spec;
      tell(owner, 'Normal', 'RuntimeCreated', `${kind} ${workload} of its own is being made to carry the task`);
      return;
    }
    await setFinalizer(task, true);
    const { tokenHash, ...spec } = runtime.spec;
    const wanted = ownSpecOf(task, agentSpec, settings);
    if (!isDeepStrictEqual(spec, wanted)) await objects.update(caches.runtimes, { ...runtime, spec: { ...wanted, ...(tokenHash === undefined ? {} : { tokenHash }) } });
  }

  /** A run that was asked for just now is not in the cache yet. */
  const askedAnew = async (task: AnyTask): Promise<boolean> => {
    const { namespace, name, uid, annotations } = task.metadata;
    const stored = await caches.stored(caches.tasks[task.kind as TaskKind].resource, namespace, name);
    return stored?.metadata.uid === uid && stored.metadata.annotations?.[taskAnnotations.runNow] !== annotations?.[taskAnnotations.runNow];
  };

  return {
    name: 'task-runtimes',
    concurrency: 8,
    keys: () => taskKinds.flatMap((kind) => caches.tasks[kind].list().filter(concerns).map(keyOfTask)),
    wakes: [
      ...taskKinds.map((kind) => onChange(caches.tasks[kind], ({ object, type }) => {
        if (type === 'DELETED') given.delete(object.metadata.uid);
        return concerns(object) ? [keyOfTask(object)] : [];
      })),
      onChange(caches.rounds, ({ object: { spec: { taskRef } } }) => [taskKey(taskRef.kind, taskRef.namespace, taskRef.name)]),
      onChange(caches.runtimes, ({ object: { spec: { task } } }) => (task === undefined ? [] : [taskKey(task.kind, task.namespace, task.name)])),
    ],
    async reconcile(key) {
      const [kind = '', namespace = '', name = ''] = key.split('/');
      const task = caches.tasks[kind as TaskKind].get(namespace, name);
      if (task === undefined || !concerns(task)) return undefined;
      const runtime = caches.runtimes.by('task', task.metadata.uid)[0];
      const ending = runtime?.metadata.deletionTimestamp !== undefined;
      const nowMs = Date.now();
      const fate = fateOf(task, caches.roundsOf(task.metadata.uid), carrierOf(task, caches, { cluster, settings }), nowMs, settings);
      if (fate.is === 'over') {
        if (runtime === undefined) {
          given.delete(task.metadata.uid);
          await setFinalizer(task, false);
        } else if (!ending && !(await askedAnew(task))) {
          tell(task, 'Normal', 'RuntimeEnding', `${runtime.spec.kind} ${runtime.spec.workload ?? ''} is being removed: ${fate.why}`);
          await objects.delete(caches.runtimes, runtime);
        }
        return undefined;
      }
      const agentSpec = agentSpecOf(task);
      // One that ends is waited for; its name is free then.
      if (ending || agentSpec === undefined) return undefined;
      // Without a Kubernetes API nothing is made that would have to be removed: the task's condition says so.
      if (fate.is === 'wanted' && (runtime !== undefined || canHaveOwn({ cluster, settings }))) await keep(task, agentSpec, runtime);
      return fate.is === 'spared' && fate.untilMs !== undefined ? { againAfterMs: fate.untilMs - nowMs } : undefined;
    },
  };
}

