import { defaultIngressClassAnnotation, nodeNetworkAnnotations, serviceNameLabel, type Condition, type RuntimePaths, type RuntimeRunner } from '@roundsman/api';
import { wholeSeconds } from '../../timestamps.ts';
import { serviceNameOf } from '../manifests/services.ts';
import type { Observation } from './observation.ts';
import { missingClassOf } from './paths.ts';

type Draft = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>;

const yes = (type: string, reason: string, message: string): Draft => ({ type, status: 'True', reason, message });
const no = (type: string, reason: string, message: string): Draft => ({ type, status: 'False', reason, message });
const reasonsTold = 5;

/** With one full stop at its end: reasons that others gave have one, or none. */
export const sentence = (words: string): string => words.replace(/\.*$/, '.');

const readyOf = (ready: number, all: number): string => `${ready} of ${all} ${all === 1 ? 'runner is' : 'runners are'} ready`;

/** "a, b and 3 more". */
const some = (texts: readonly string[]): string => `${texts.slice(0, reasonsTold).join('; ')}${texts.length > reasonsTold ? `; and ${texts.length - reasonsTold} more` : ''}`;

/** WorkloadReady, ServicesReady, IngressReady (where it is to have one) and Ready; times move only when a status changes. */
export function conditionsOf(observation: Observation, runners: readonly RuntimeRunner[], paths: RuntimePaths): Condition[] {
  const { runtime, nowMs, stale } = observation;
  const { kind, families, ingress, task } = runtime.spec;
  const workload = kind === 'Process' ? processesReady(observation) : workloadReady(observation, runners);
  const services = families.length === 0 ? [] : [servicesReady(observation, runners, paths)];
  const entrances = ingress ? [ingressReady(observation, paths)] : [];
  // What is wrong with ways that only some tasks test is told to those; the default runtime carries the others all the same.
  const needed = task === undefined ? [workload, ...services.filter(({ reason }) => reason !== 'NoLoadBalancerAddress')] : [workload, ...services, ...entrances];
  const failing = needed.find(({ status }) => status !== 'True');
  const ready = failing === undefined ? yes('Ready', 'Ready', workload.message) : no('Ready', failing.reason, failing.message);
  const drafts = [workload, ...services, ...entrances, stale === undefined ? ready : { ...ready, message: `${sentence(ready.message)} This may be old: ${stale}` }];
  const before = new Map((runtime.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  return drafts.map((draft) => {
    const old = before.get(draft.type);
    return { ...draft, lastTransitionTime: old?.status === draft.status ? old.lastTransitionTime : wholeSeconds(nowMs) };
  });
}

function processesReady({ runners }: Observation): Draft {
  const processes = runners.filter(({ status }) => status?.pod === undefined);
  const ready = processes.filter(({ status }) => status?.ready === true);
  const told = `${readyOf(ready.length, processes.length)}; ${processes.length === 1 ? 'it is a process that the agent of its node keeps' : 'they are processes that the agents of the nodes keep'}.`;
  if (processes.length === 0) return no('WorkloadReady', 'NoRunners', 'No agent has told of a runner yet.');
  return ready.length === processes.length ? yes('WorkloadReady', 'RunnersReady', told) : no('WorkloadReady', 'RunnersNotReady', told);
}

function workloadReady({ runtime, problems, runners: known, workload, nodes, settings }: Observation, runners: readonly RuntimeRunner[]): Draft {
  const type = 'WorkloadReady';
  const { kind } = runtime.spec;
  const heard = new Set(known.filter(({ status }) => status?.ready === true).map(({ metadata }) => metadata.name));
  const ready = runners.filter((runner) => runner.ready);
  const told = readyOf(ready.length, runners.length);
  const problem = problems.get('workload');
  if (problem !== undefined && workload === undefined) return no(type, 'WorkloadNotMade', `The ${kind} cannot be made: ${problem}`);
  if (runners.length === 0) return no(type, 'NoRunners', kind === 'DaemonSet' ? 'No node fits spec.agentSpec.affinity, so there is no runner.' : 'There is no runner yet.');
  const lacking = runners.filter((runner) => !runner.ready);
  if (lacking.length > 0) return no(type, 'RunnersNotReady', `${told}. ${some(lacking.map(({ node, pod, reason = '' }) => `${node !== '' ? `Node ${node}` : `Pod ${pod ?? '(not made)'}`}: ${reason}`))}`);
  const silent = ready.filter(({ runner }) => !heard.has(runner));
  if (silent.length > 0) return no(type, 'RunnersSilent', `${told}, but not heard yet: ${some(silent.map(({ runner }) => runner))}. They report to NATS, which a firewall must let pods reach: ${natsOf(nodes, settings.runnerNatsUrl)}.`);
  if (problem !== undefined) return no(type, 'WorkloadNotChanged', `The ${kind} cannot be changed: ${problem}`);
  return yes(type, 'RunnersReady', `${told}.`);
}

/** The URL that pods are given and, in the small cluster, where the Service in it leads. */
function natsOf(nodes: Observation['nodes'], url: string): string {
  const endpoints = [...new Set(nodes.flatMap(({ metadata }) => metadata.annotations?.[nodeNetworkAnnotations.nats] ?? []))].sort();
  return `${url} (ROUNDSMAN_CONTROLLERS_RUNNER_NATS_URL)${endpoints.length === 0 ? '' : `, behind it ${endpoints.join(', ')}`}`;
}

function servicesReady({ runtime, services, slices, problems }: Observation, runners: readonly RuntimeRunner[], paths: RuntimePaths): Draft {
  const type = 'ServicesReady';
  const { families, workload = runtime.metadata.name } = runtime.spec;
  const problem = problems.get('services');
  const podsReady = runners.flatMap(({ ready, pod }) => (ready && pod !== undefined ? [pod] : []));
  let unbalanced: string | undefined;
  for (const family of families) {
    const name = serviceNameOf(workload, family);
    const path = paths.services.find((one) => one.family === family);
    if (path === undefined) return no(type, 'ServiceNotMade', `Service ${name} ${problem === undefined ? 'is not there yet.' : `cannot be made: ${problem}`}`);
    if (path.clusterIP === undefined) return no(type, 'NoClusterIP', `Service ${name} has no cluster address.`);
    const behind = new Set(
      slices
        .filter(({ metadata }) => metadata.labels?.[serviceNameLabel] === name)
        .flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ conditions, targetRef }) => (conditions?.ready === false || targetRef?.name === undefined ? [] : [targetRef.name]))),
    );
    const without = podsReady.filter((pod) => !behind.has(pod));
    if (without.length > 0) return no(type, 'EndpointsMissing', `Service ${name} does not lead to ${some(without)} yet.`);
    const service = services.find(({ metadata }) => metadata.name === name);
    if (service?.spec.type === 'LoadBalancer' && path.loadBalancer === undefined) unbalanced ??= name;
  }
  if (unbalanced !== undefined) return no(type, 'NoLoadBalancerAddress', `The load balancer of Service ${unbalanced} has no address: is there one in this cluster?`);
  if (problem !== undefined) return no(type, 'ServicesNotChanged', `The Services cannot be changed: ${problem}`);
  return yes(type, 'ServicesReady', `${families.length === 1 ? 'The Service leads' : 'The Services lead'} to all runners that are ready.`);
}

function ingressReady({ ingress, ingressClasses, problems }: Observation, paths: RuntimePaths): Draft {
  const type = 'IngressReady';
  const problem = problems.get('ingress');
  if (ingress === undefined) return no(type, 'IngressNotMade', problem === undefined ? 'The Ingress is not there yet.' : `The Ingress cannot be made: ${problem}`);
  if ((paths.ingress?.addresses.length ?? 0) > 0) return problem === undefined ? yes(type, 'IngressReady', 'The Ingress has an address.') : no(type, 'IngressNotChanged', `The Ingress cannot be changed: ${problem}`);
  const missing = missingClassOf(ingress, ingressClasses);
  if (missing !== undefined) return no(type, 'NoIngressClass', `There is no IngressClass ${missing} in this cluster.`);
  if (ingress.spec.ingressClassName === undefined && !ingressClasses.some(({ metadata }) => metadata.annotations?.[defaultIngressClassAnnotation] === 'true')) {
    return no(type, 'NoIngressClass', 'This cluster has no default IngressClass; name one in ROUNDSMAN_CONTROLLERS_RUNTIME_INGRESS_CLASS.');
  }
  return no(type, 'NoIngressAddress', 'The Ingress has no address: no ingress controller has taken it.');
}
