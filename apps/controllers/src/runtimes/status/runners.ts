import { isPodTerminating, runnerOfPod, type Node, type Pod, type RuntimeRunner } from '@roundsman/api';
import { interfacesOf } from './interfaces.ts';
import type { Observation } from './observation.ts';
import { lastEndOf, nodeNameOf, reasonNotReady } from './pod-reason.ts';

/** The runners of a runtime by its pods, and those that it is to have and has no pods for, by name; each that is not ready with the reason. */
export function runnersOf(observation: Observation): RuntimeRunner[] {
  const { runtime, nodes, settings, runners } = observation;
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  // A process does the work of a pod that cannot run on its node.
  const processes = new Set(runners.flatMap(({ status }) => (status?.pod === undefined && status?.ready === true ? [status.node] : [])));
  const annotations = settings.runtimeInterfacesAnnotation;
  const ofPods = counted(observation).map((pod): RuntimeRunner => {
    const node = nodeNameOf(pod);
    const reason = reasonNotReady(pod, byName.get(node));
    const interfaces = interfacesOf(pod, annotations);
    const ended = lastEndOf(pod);
    return {
      runner: runnerOfPod(runtime.metadata.namespace ?? '', pod.metadata.name), node, pod: pod.metadata.name, ready: reason === undefined,
      ...(reason === undefined ? {} : { reason }), ...(ended === undefined ? {} : { ended }), ...(interfaces.length === 0 ? {} : { interfaces }),
    };
  });
  const all = [...ofPods, ...missing(observation, ofPods)].filter(({ ready, node }) => ready || !processes.has(node));
  return all.sort((a, b) => (a.runner < b.runner ? -1 : 1));
}

/** Those that stand for a runner: of a DaemonSet one per node, of a Deployment as many as it is to have; the best ones. */
function counted({ runtime, pods }: Observation): Pod[] {
  const best = [...pods].sort((a, b) => rank(a) - rank(b) || (a.metadata.creationTimestamp < b.metadata.creationTimestamp ? 1 : -1));
  if (runtime.spec.kind !== 'DaemonSet') return best.slice(0, Math.max(runtime.spec.replicas ?? 1, best.filter((pod) => rank(pod) === 0).length));
  const perNode = new Map<string, Pod>();
  const unplaced: Pod[] = [];
  for (const pod of best) {
    const node = nodeNameOf(pod);
    if (node === '') unplaced.push(pod);
    else if (!perNode.has(node)) perNode.set(node, pod);
  }
  return [...perNode.values(), ...unplaced];
}

/** 0 ready, 1 on its way, 2 ended, 3 about to be gone. */
function rank(pod: Pod): number {
  if (isPodTerminating(pod)) return 3;
  if (pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded') return 2;
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true ? 0 : 1;
}

/** Runners without a pod: nobody made one for them. */
function missing({ runtime, nodes, fits, noPods, problems, workload }: Observation, there: readonly RuntimeRunner[]): RuntimeRunner[] {
  const { kind, replicas = 1, workload: name = runtime.metadata.name } = runtime.spec;
  const reason = problems.get('workload') ?? noPods ?? (workload === undefined ? `the ${kind} is not there yet` : 'it has no pod yet');
  const standIn = (what: string, node: string): RuntimeRunner => ({ runner: runnerOfPod(runtime.metadata.namespace ?? '', `${name}-${what}`), node, ready: false, reason });
  if (kind !== 'DaemonSet') return Array.from({ length: Math.max(0, replicas - there.length) }, (_, index) => standIn(`without-pod-${index + 1}`, ''));
  const placed = new Set(there.map(({ node }) => node));
  return nodes.filter((node: Node) => !placed.has(node.metadata.name) && fits(node)).map(({ metadata }) => standIn(`on-${metadata.name}`, metadata.name));
}
