import type { ContainerStatus, PodCondition, PodSpec } from '@roundsman/api';
import { isSidecar } from '../pods/restart-policy.ts';
import type { Phase } from './phase.ts';

type Finding = Pick<PodCondition, 'type' | 'status' | 'reason' | 'message'>;

/** The conditions that the agent of a node tells, in the kubelet's order. */
export const ownConditions = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'] as const;

const truly = (type: string, holds: boolean, reason?: string, message?: string): Finding => ({
  type,
  status: holds ? 'True' : 'False',
  ...(reason === undefined ? {} : { reason }),
  ...(message === undefined || message === '' ? {} : { message }),
});

const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

export interface ConditionsView {
  readonly spec: PodSpec;
  readonly phase: Phase;
  readonly sandboxRunning: boolean;
  readonly statuses: readonly ContainerStatus[];
  /** The agent's own as they were told last. */
  readonly before: readonly PodCondition[];
  /** As stored, those of others included. */
  readonly stored: readonly PodCondition[];
  /** RFC 3339. */
  readonly now: string;
}

/** All conditions of a pod: the agent's own, then those of others as they are. A time of transition changes with the status only. */
export function conditionsOf(view: ConditionsView): PodCondition[] {
  const before = new Map(view.before.map((condition) => [condition.type, condition]));
  const stored = new Map(view.stored.map((condition) => [condition.type, condition]));
  const containers = containersReady(view);
  const own: Finding[] = [
    truly('PodReadyToStartContainers', view.sandboxRunning),
    initialized(view),
    ready(view, containers, stored),
    containers,
    truly('PodScheduled', true),
  ];
  const others = view.stored.filter(({ type }) => !(ownConditions as readonly string[]).includes(type));
  const dated = own.map((finding): PodCondition => {
    const old = before.get(finding.type);
    return { ...finding, lastProbeTime: null, lastTransitionTime: old?.status === finding.status && old.lastTransitionTime ? old.lastTransitionTime : view.now } as PodCondition;
  });
  return [...dated, ...others];
}

function initialized({ spec, phase, statuses }: ConditionsView): Finding {
  const of = (name: string): ContainerStatus | undefined => statuses.find((status) => status.name === name);
  if (phase === 'Succeeded') return truly('Initialized', true, 'PodCompleted');
  const ran = spec.containers.some(({ name }) => {
    const status = of(name);
    return status?.started === true || status?.state?.running !== undefined || status?.state?.terminated !== undefined || status?.lastState?.terminated !== undefined;
  });
  const left = (spec.initContainers ?? []).filter((container) => (isSidecar(container) ? of(container.name)?.started !== true : of(container.name)?.ready !== true));
  if (ran || left.length === 0) return truly('Initialized', true);
  return truly('Initialized', false, 'ContainersNotInitialized', `containers with incomplete status: ${listed(left.map(({ name }) => name))}`);
}

function containersReady({ spec, phase, statuses }: ConditionsView): Finding {
  if (phase === 'Succeeded') return truly('ContainersReady', false, 'PodCompleted');
  if (phase === 'Failed') return truly('ContainersReady', false, 'PodFailed');
  const counted = [...(spec.initContainers ?? []).filter(isSidecar), ...spec.containers];
  const unready = counted.filter(({ name }) => statuses.find((status) => status.name === name)?.ready !== true);
  if (unready.length === 0) return truly('ContainersReady', true);
  return truly('ContainersReady', false, 'ContainersNotReady', `containers with unready status: ${listed(unready.map(({ name }) => name))}`);
}

function ready({ spec }: ConditionsView, containers: Finding, stored: ReadonlyMap<string, PodCondition>): Finding {
  if (containers.status !== 'True') return { ...containers, type: 'Ready' };
  const closed = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const gate = stored.get(conditionType);
    if (gate === undefined) return [`corresponding condition of pod readiness gate "${conditionType}" does not exist.`];
    return gate.status === 'True' ? [] : [`the status of pod readiness gate "${conditionType}" is not "True", but ${gate.status}`];
  });
  return closed.length === 0 ? truly('Ready', true) : truly('Ready', false, 'ReadinessGatesNotReady', closed.join(', '));
}
