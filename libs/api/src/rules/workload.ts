import { isDeepStrictEqual } from 'node:util';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { DaemonSet } from '../kinds/daemonset/schema.ts';
import type { Deployment } from '../kinds/deployment/schema.ts';
import type { ReplicaSet } from '../kinds/replicaset/schema.ts';
import type { StatefulSet } from '../kinds/statefulset/schema.ts';
import type { LabelSelector } from '../kinds/workload/selector.ts';
import type { PodTemplateSpec } from '../kinds/workload/template.ts';
import { labelSelectorCauses } from '../label-selector.ts';
import type { KubeObject } from '../meta.ts';
import { labelProblem } from '../names.ts';
import { forbiddenField, invalidValue, named, nonNegative, notSupported, required, type Findings } from './causes.ts';
import { goIntOrString, goSelector } from './go-syntax.ts';
import { atMostAll, countCauses, isNone } from './int-or-percent.ts';
import { podTemplateCauses, selectorMatchCauses } from './pod-template.ts';

type Context = Pick<AdmissionContext, 'old'>;
const findings = (...causes: readonly Cause[][]): Findings => ({ causes: causes.flat(), warnings: [] });

/** What a workload without a selector would adopt: everything. */
function selectorCauses(selector: LabelSelector, kind: string): Cause[] {
  const empty = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length === 0;
  return [...labelSelectorCauses(selector, 'spec.selector'), ...(empty ? [invalidValue('spec.selector', goSelector(selector), `empty selector is invalid for ${kind}`)] : [])];
}

/** Pods that are kept running are always started again, and have no deadline. */
function kept({ spec }: PodTemplateSpec, kind: string): Cause[] {
  const field = 'spec.template.spec';
  const causes: Cause[] = [];
  if (spec.restartPolicy !== 'Always') causes.push(notSupported(`${field}.restartPolicy`, spec.restartPolicy, ['Always']));
  if (spec.activeDeadlineSeconds !== undefined) causes.push(forbiddenField(`${field}.activeDeadlineSeconds`, `activeDeadlineSeconds in ${kind} is not Supported`));
  return causes;
}

const templateCauses = (template: PodTemplateSpec, selector: LabelSelector): Cause[] => [...selectorMatchCauses(template, selector, 'spec.template'), ...podTemplateCauses(template, 'spec.template')];

const sameSelector = (selector: LabelSelector, old: { spec: { selector: LabelSelector } } | undefined): Cause[] =>
  old === undefined || isDeepStrictEqual(selector, old.spec.selector) ? [] : [invalidValue('spec.selector', goSelector(selector), 'field is immutable')];

export function deploymentRules(object: KubeObject, { old }: Context): Findings {
  const { spec } = object as Deployment;
  const { selector, template, progressDeadlineSeconds: deadline, minReadySeconds = 0 } = spec;
  return findings(
    nonNegative('spec.replicas', spec.replicas),
    selectorCauses(selector, 'deployment'),
    templateCauses(template, selector),
    kept(template, 'ReplicaSet'),
    strategyCauses(spec.strategy, 'spec.strategy'),
    nonNegative('spec.minReadySeconds', minReadySeconds),
    nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    nonNegative('spec.progressDeadlineSeconds', deadline),
    deadline !== undefined && deadline <= minReadySeconds ? [invalidValue('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')] : [],
    sameSelector(selector, old as Deployment | undefined),
  );
}

function strategyCauses({ type, rollingUpdate }: Deployment['spec']['strategy'], field: string): Cause[] {
  if (type === 'Recreate') return rollingUpdate === undefined ? [] : [forbiddenField(`${field}.rollingUpdate`, "may not be specified when strategy `type` is 'Recreate'")];
  if (rollingUpdate === undefined) return [];
  const { maxUnavailable, maxSurge } = rollingUpdate;
  const at = `${field}.rollingUpdate`;
  const causes = [...countCauses(`${at}.maxUnavailable`, maxUnavailable), ...countCauses(`${at}.maxSurge`, maxSurge)];
  if (isNone(maxUnavailable) && isNone(maxSurge)) causes.push(invalidValue(`${at}.maxUnavailable`, goIntOrString(maxUnavailable), 'may not be 0 when `maxSurge` is 0'));
  return [...causes, ...atMostAll(`${at}.maxUnavailable`, maxUnavailable)];
}

export function replicaSetRules(object: KubeObject, { old }: Context): Findings {
  const { spec } = object as ReplicaSet;
  const { selector, template } = spec;
  return findings(
    nonNegative('spec.replicas', spec.replicas),
    nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    selectorCauses(selector, 'deployment'),
    templateCauses(template, selector),
    kept(template, 'ReplicaSet'),
    sameSelector(selector, old as ReplicaSet | undefined),
  );
}

export function daemonSetRules(object: KubeObject, { old }: Context): Findings {
  const { spec } = object as DaemonSet;
  const { selector, template, updateStrategy } = spec;
  return findings(
    selectorCauses(selector, 'daemonset'),
    templateCauses(template, selector),
    kept(template, 'DaemonSet'),
    nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    updateStrategy.type === 'RollingUpdate' && updateStrategy.rollingUpdate !== undefined ? daemonUpdateCauses(updateStrategy.rollingUpdate, 'spec.updateStrategy.rollingUpdate') : [],
    nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    sameSelector(selector, old as DaemonSet | undefined),
  );
}

function daemonUpdateCauses({ maxUnavailable, maxSurge }: NonNullable<DaemonSet['spec']['updateStrategy']['rollingUpdate']>, field: string): Cause[] {
  const [unavailable, surge] = [`${field}.maxUnavailable`, `${field}.maxSurge`];
  const causes = [...countCauses(unavailable, maxUnavailable), ...countCauses(surge, maxSurge), ...atMostAll(unavailable, maxUnavailable), ...atMostAll(surge, maxSurge)];
  if (!isNone(maxUnavailable) && !isNone(maxSurge)) causes.push(invalidValue(surge, goIntOrString(maxSurge), 'may not be set when maxUnavailable is non-zero'));
  if (isNone(maxUnavailable) && isNone(maxSurge)) causes.push(required(unavailable, 'cannot be 0 when maxSurge is 0'));
  return causes;
}

/** What of a stateful set may change. */
const changeable = ['replicas', 'template', 'updateStrategy', 'minReadySeconds', 'ordinals', 'persistentVolumeClaimRetentionPolicy'] as const;

export function statefulSetRules(object: KubeObject, { old }: Context): Findings {
  const { metadata, spec } = object as StatefulSet;
  const { selector, template, updateStrategy } = spec;
  return findings(
    named('metadata.name', metadata.name, labelProblem(metadata.name)),
    updateStrategyCauses(updateStrategy, 'spec.updateStrategy'),
    nonNegative('spec.replicas', spec.replicas),
    nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    nonNegative('spec.ordinals.start', spec.ordinals?.start),
    selectorCauses(selector, 'statefulset'),
    templateCauses(withClaims(spec), selector),
    kept(template, 'StatefulSet'),
    nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    old === undefined ? [] : changeCauses(spec, (old as StatefulSet).spec),
  );
}

function updateStrategyCauses({ type, rollingUpdate }: StatefulSet['spec']['updateStrategy'], field: string): Cause[] {
  if (rollingUpdate === undefined) return [];
  const at = `${field}.rollingUpdate`;
  if (type === 'OnDelete') return [invalidValue(at, rollingUpdate, "only allowed for updateStrategy 'RollingUpdate'")];
  const { partition, maxUnavailable } = rollingUpdate;
  if (maxUnavailable === undefined) return nonNegative(`${at}.partition`, partition);
  const none = isNone(maxUnavailable) ? [invalidValue(`${at}.maxUnavailable`, goIntOrString(maxUnavailable), 'cannot be 0')] : [];
  return [...nonNegative(`${at}.partition`, partition), ...countCauses(`${at}.maxUnavailable`, maxUnavailable), ...none, ...atMostAll(`${at}.maxUnavailable`, maxUnavailable)];
}

/** The template as its pods will be: with a volume for each claim. */
function withClaims({ template, volumeClaimTemplates = [] }: StatefulSet['spec']): PodTemplateSpec {
  const claims = volumeClaimTemplates.flatMap(({ metadata }) => metadata.name ?? []);
  const volumes = [...(template.spec.volumes ?? []).filter(({ name }) => !claims.includes(name)), ...claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }))];
  return { ...template, spec: { ...template.spec, volumes } };
}

function changeCauses(spec: StatefulSet['spec'], old: StatefulSet['spec']): Cause[] {
  const fixed = (of: StatefulSet['spec']): object => Object.fromEntries(Object.entries(of).filter(([member]) => !(changeable as readonly string[]).includes(member)));
  if (isDeepStrictEqual(fixed(spec), fixed(old))) return [];
  return [forbiddenField('spec', "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")];
}
