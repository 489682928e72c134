import { isDeepStrictEqual } from 'node:util';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { agentSpecSchema, completeTask, type AgentSpec } from '../kinds/agent-spec.ts';
import type { ResourceRequirements } from '../kinds/pod/resources.ts';
import { compareQuantities } from '../quantity.ts';
import { runnerResources } from '../runner-resources.ts';
import { duplicate, forbiddenField, invalidValue, type Findings } from './causes.ts';
import { runsContainers, storedNodes, type Stored } from './cluster.ts';
import { annotationCauses } from './metadata.ts';
import { environmentCauses } from './pod/environment.ts';
import { affinityCauses } from './pod/placement.ts';
import { containerResourceCauses, resourceCauses } from './pod/resources.ts';

const field = 'spec.agentSpec';

/** What a runtime of a task's own may be made of. */
export function agentSpecRules(task: KubeObject, context: AdmissionContext, { causes, warnings }: Findings): void {
  const { agentSpec } = task.spec as { agentSpec?: AgentSpec };
  if (context.old !== undefined && !isDeepStrictEqual(madeOf(task), madeOf(context.old))) {
    causes.push(forbiddenField(field, 'the runtime of a task is made once: only terminationGracePeriodMinutes may be changed. Delete the task and create it again'));
  }
  if (agentSpec === undefined) return;
  const { kind, deploymentReplicas, annotation = {}, affinity, env = [], resources = {} } = agentSpec;
  if (kind === 'DaemonSet' && deploymentReplicas !== undefined) warnings.push(`${field}.deploymentReplicas: not used, kind is DaemonSet, which has a runner on every node`);
  causes.push(
    ...annotationCauses(annotation, `${field}.annotation`),
    ...Object.keys(annotation).filter(isOurs).map((key) => forbiddenField(`${field}.annotation[${key}]`, 'annotations below roundsman.io are set by Roundsman itself')),
    ...(affinity === undefined ? [] : affinityCauses(affinity, `${field}.affinity`)),
    ...environmentCauses(env, `${field}.env`),
    ...env.flatMap(({ name }, index) => [
      ...(isReserved(name) ? [forbiddenField(`${field}.env[${index}].name`, 'TMPDIR and variables that begin with ROUNDSMAN_ or POD_ are set by Roundsman itself')] : []),
      ...(env.slice(0, index).some((other) => other.name === name) ? [duplicate(`${field}.env[${index}].name`, name)] : []),
    ]),
    ...resourceCauses(resources, `${field}.resources`),
    ...((resources.claims ?? []).length > 0 ? [forbiddenField(`${field}.resources.claims`, 'the pods of a runtime have no resource claims')] : []),
    ...roomCauses(resources, context),
    ...memoryCauses(resources),
  );
  const { memory } = runnerResources(resources).limits;
  const usual = runnerResources().limits['memory'];
  if (resources.limits?.['memory'] === undefined && memory !== usual) warnings.push(`${field}.resources.requests[memory]: more than the limit of ${usual} that holds where none is given: the limit is ${memory}, too`);
  if (memory !== undefined && compareQuantities(memory, leastMemory) >= 0 && compareQuantities(memory, enoughMemory) < 0) {
    warnings.push(`${field}.resources.limits[memory]: ${memory} is little: a runner that measures needs about ${enoughMemory}, and more with high rates; one that needs more than it may use is ended in the middle of its rounds (OOMKilled)`);
  }
}

/** No container starts with less: Docker refuses it, and elsewhere not even its first process has room. */
const leastMemory = '6Mi';
/** An idle runner has 31 MiB of its own, and each round a heap for the thread that measures. */
const enoughMemory = '96Mi';

function memoryCauses({ limits: { memory } = {} }: ResourceRequirements): Cause[] {
  if (memory === undefined || memory.startsWith('-') || compareQuantities(memory, leastMemory) >= 0) return [];
  return [invalidValue(`${field}.resources.limits[memory]`, memory, `must be at least ${leastMemory}, with less no container starts; a runner that measures needs about ${enoughMemory}`)];
}

const isReserved = (name: string): boolean => /^(ROUNDSMAN|POD)_/.test(name) || name === 'TMPDIR';
const isOurs = (key: string): boolean => key.startsWith('roundsman.io/') || key.includes('.roundsman.io/');

/** What the runtime is made of, with the defaults of today. */
function madeOf(task: KubeObject): unknown {
  const { agentSpec } = task.spec as { agentSpec?: unknown };
  const read = agentSpecSchema.optional().safeParse(agentSpec);
  if (!read.success || read.data === undefined) return agentSpec;
  const complete = { ...task, spec: { agentSpec: read.data } };
  completeTask(complete);
  const { terminationGracePeriodMinutes: _minutes, ...made } = complete.spec.agentSpec;
  return made;
}

/** What every runner requests must be what a node has; where no nodes are known the workload tells. */
function roomCauses(resources: ResourceRequirements, stored: Stored): Cause[] {
  const nodes = storedNodes(stored).filter(runsContainers).flatMap(({ status }) => (status?.allocatable === undefined ? [] : [status.allocatable]));
  if (nodes.length === 0) return [];
  const { limits, requests } = runnerResources(resources);
  const wanted: Record<string, string> = { ...limits, ...requests };
  const has = (node: Record<string, string>, name: string): boolean => compareQuantities(node[name] ?? '0', wanted[name]!) >= 0;
  // Of what is refused anyway nothing more is said.
  const names = Object.keys(wanted).filter((name) => !wanted[name]!.startsWith('-') && containerResourceCauses(name, field).length === 0);
  const causes = names.flatMap((name): Cause[] => {
    if (nodes.some((node) => has(node, name))) return [];
    const most = nodes.map((node) => node[name] ?? '0').reduce((a, b) => (compareQuantities(a, b) < 0 ? b : a));
    return [invalidValue(`${field}.resources.${name in requests ? 'requests' : 'limits'}[${name}]`, wanted[name], `no node has so much, the largest one has ${most}`)];
  });
  if (causes.length > 0 || nodes.some((node) => names.every((name) => has(node, name)))) return causes;
  return [invalidValue(`${field}.resources`, wanted, 'no node has all of this')];
}
