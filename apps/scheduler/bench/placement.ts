import { bounded, printFigures, type Figure } from '@roundsman/testkit';
import type { PodInfo } from '../src/pods/cluster/pod-info.ts';
import { ClusterState } from '../src/pods/cluster/state.ts';
import { decide } from '../src/pods/decision/decide.ts';
import { preempt } from '../src/pods/decision/preempt.ts';
import { selectorCondition } from '../src/pods/rules/label-selector.ts';
import { info, node, type PodParts } from '../src/pods/testing/objects.ts';

const nodes = 100;
const pods = 5_000;
/** Pods of one workload. */
const replicas = 100;
const part = pods / 10;

const fleet = (): ClusterState => {
  const ownPods = ({ labels, pod }: PodInfo) => (pod.metadata.ownerReferences === undefined ? undefined : selectorCondition({ matchLabels: { app: labels['app'] ?? '' } }));
  const state = new ClusterState({ namespaceLabels: () => ({}), ownPods });
  for (let index = 0; index < nodes; index++) state.setNode(node(`n${index}`, { allocatable: { cpu: '64', memory: '256Gi' }, labels: { 'topology.kubernetes.io/zone': `z${index % 3}` } }));
  return state;
};

/** Milliseconds of processor time for each tenth of the pods, in their order: other processes of the machine do not count. */
function place(parts: (index: number) => PodParts): number[] {
  const state = fleet();
  const asked = Array.from({ length: pods }, (_, index) => info(`p${index}`, { requests: { cpu: '100m', memory: '128Mi' }, ...parts(index) }));
  return Array.from({ length: pods / part }, (_, tenth) => {
    const begun = process.cpuUsage();
    for (const pod of asked.slice(tenth * part, (tenth + 1) * part)) {
      const decision = decide(pod, state, { nominated: state.nominatedOn, random: Math.random });
      if (decision.node === undefined) throw new Error(`pod ${pod.name} found no node`);
      state.assume(pod, decision.node.name);
    }
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / 1000;
  });
}

const app = (index: number): string => `app-${Math.floor(index / replicas)}`;
const workloads: readonly (readonly [name: string, parts: (index: number) => PodParts])[] = [
  ['replicas', (index) => ({ labels: { app: app(index) }, owner: { kind: 'ReplicaSet', name: app(index) } })],
  ['pods with a label of their own', (index) => ({ labels: { app: app(index), index: String(index) }, owner: { kind: 'StatefulSet', name: app(index) } })],
  [
    'replicas, spread over zones and apart from others',
    (index) => ({
      labels: { app: app(index) },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app: app(index) } } }],
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: `${app(index)}-foe` } } }] } },
    }),
  ],
];

/** Milliseconds of processor time to find the victims for one pod with rules about other pods, on a full fleet of 5,000. */
function findVictims(): number {
  const state = fleet();
  for (let index = 0; index < pods; index++) state.place(info(`low-${index}`, { labels: { app: app(index), index: String(index) }, requests: { cpu: '1280m' } }), `n${index % nodes}`);
  const apart = [{ topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'foe' } } }];
  const pod = info('high', { priority: 10, requests: { cpu: '10' }, affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: apart } } });
  const begun = process.cpuUsage();
  const decision = decide(pod, state, { nominated: state.nominatedOn, random: Math.random });
  if (decision.node !== undefined) throw new Error('the fleet is not full');
  if (preempt(pod, state, decision.refusals, { budgets: [], nominated: state.nominatedOn }).eviction === undefined) throw new Error('no victims were found');
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1000;
}

/** Deciding alone, without writing: 5,000 pods on 100 nodes. */
export async function run(): Promise<Figure[]> {
  findVictims();
  const victims = bounded('finding victims on 100 full nodes of 50 pods: CPU', 'ms', findVictims(), '<=', 200);
  const placed = workloads.flatMap(([name, parts]): Figure[] => {
    place(parts);
    const tenths = place(parts);
    const mean = tenths.reduce((sum, ms) => sum + ms, 0) / pods;
    return [
      bounded(`one of 5,000 ${name} on 100 nodes: CPU of its decision`, 'ms', mean, '<=', 1),
      bounded(`the last 500 of 5,000 ${name}: CPU, to the first 500`, 'times', (tenths.at(-1) ?? 0) / (tenths[0] ?? 1), '<=', 10),
    ];
  });
  return [...placed, victims];
}

if (import.meta.main) await printFigures(run());
