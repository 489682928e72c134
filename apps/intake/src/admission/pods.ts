import { forbidden, valueAt, type KubeObject } from '@roundsman/api';
import type { AdmissionView } from './outcome.ts';

const priorityClasses = 'priorityclasses.scheduling.k8s.io';
const pods = { plural: 'pods', group: '' };

interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}
/** The members of a pod's spec that are filled in here. */
interface PodSpec {
  runtimeClassName?: string;
  priorityClassName?: string;
  priority?: number;
  preemptionPolicy?: string;
  serviceAccountName?: string;
  serviceAccount?: string;
  imagePullSecrets?: { name?: string }[];
  tolerations?: Toleration[];
}

/** Seconds a pod stays on a node that is not ready or not reachable, unless it says so itself. */
const tolerationSeconds = 300;

/**
 * What a new pod gets from other objects: its priority, its account, its patience with a lost node. It keeps them when somebody writes it again
 * without them. Changes `pod`; throws a 403 for what is not there.
 */
export function completePod(pod: KubeObject, view: AdmissionView, old: KubeObject | undefined): void {
  const spec = pod.spec as PodSpec;
  if (old === undefined) {
    // Its isolation would be missing without a word: there are no such classes here.
    if (spec.runtimeClassName) throw forbidden(pods, pod.metadata.name ?? '', `pod rejected: RuntimeClass ${JSON.stringify(spec.runtimeClassName)} not found`);
    resolvePriority(pod, spec, view);
    resolveAccount(pod, spec, view);
  } else {
    const before = old.spec as PodSpec;
    if (before.priority !== undefined) spec.priority ??= before.priority;
    if (before.preemptionPolicy !== undefined) spec.preemptionPolicy ??= before.preemptionPolicy;
  }
  for (const state of ['not-ready', 'unreachable']) tolerate(spec, `node.kubernetes.io/${state}`);
}

function resolvePriority(pod: KubeObject, spec: PodSpec, view: AdmissionView): void {
  const name = pod.metadata.name ?? '';
  if (spec.priorityClassName === '') delete spec.priorityClassName;
  const found = spec.priorityClassName === undefined ? defaultPriorityClass(view) : view.admitted(priorityClasses, undefined, spec.priorityClassName);
  if (found === undefined && spec.priorityClassName !== undefined) throw forbidden(pods, name, `no PriorityClass with name ${spec.priorityClassName} was found`);
  if (found !== undefined) spec.priorityClassName = found.metadata.name;
  const priority = (valueAt(found, 'value') as number | undefined) ?? 0;
  const preemptionPolicy = (valueAt(found, 'preemptionPolicy') as string | undefined) ?? 'PreemptLowerPriority';
  if (spec.priority !== undefined && spec.priority !== priority) {
    throw forbidden(pods, name, `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${priority} from the given PriorityClass name`);
  }
  if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
    throw forbidden(pods, name, `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`);
  }
  spec.priority = priority;
  spec.preemptionPolicy = preemptionPolicy;
}

/** Of several (made at the same time) the lowest. */
const defaultPriorityClass = (view: AdmissionView): KubeObject | undefined =>
  view
    .list(priorityClasses)
    .filter((one) => valueAt(one, 'globalDefault') === true)
    .toSorted((a, b) => (valueAt(a, 'value') as number) - (valueAt(b, 'value') as number))[0];

function resolveAccount({ metadata }: KubeObject, spec: PodSpec, view: AdmissionView): void {
  const given = spec.serviceAccountName || spec.serviceAccount || 'default';
  spec.serviceAccountName = given;
  spec.serviceAccount = given;
  const account = view.admitted('serviceaccounts', metadata.namespace, given);
  // The default one is made with its namespace by a controller, which may be a moment later.
  if (account === undefined && given !== 'default') {
    throw forbidden(pods, metadata.name ?? '', `error looking up service account ${metadata.namespace}/${given}: serviceaccount ${JSON.stringify(given)} not found`);
  }
  const secrets = valueAt(account, 'imagePullSecrets') as { name?: string }[] | undefined;
  if ((spec.imagePullSecrets ?? []).length === 0 && secrets !== undefined && secrets.length > 0) spec.imagePullSecrets = structuredClone(secrets);
}

function tolerate(spec: PodSpec, key: string): void {
  const covered = (spec.tolerations ?? []).some((one) => (one.key === key || (one.key ?? '') === '') && ((one.effect ?? '') === '' || one.effect === 'NoExecute'));
  if (!covered) spec.tolerations = [...(spec.tolerations ?? []), { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds }];
}
