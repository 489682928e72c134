import type { Job, Pod } from '@roundsman/api';

type Policy = NonNullable<Job['spec']['podFailurePolicy']>;
type Rule = Policy['rules'][number];

export interface FailureRuling {
  /** Towards the back-off limit. */
  readonly counts: boolean;
  readonly failsIndex: boolean;
  /** The whole job fails, with this message. */
  readonly failsJob?: string;
}

/** What the first rule that matches a failed pod says; without one the failure counts. */
export function rulingOn(policy: Policy | undefined, pod: Pod): FailureRuling {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why === undefined) continue;
    return {
      counts: rule.action !== 'Ignore',
      failsIndex: rule.action === 'FailIndex',
      ...(rule.action === 'FailJob' ? { failsJob: `${why} matching FailJob rule at index ${index}` } : {}),
    };
  }
  return { counts: true, failsIndex: false };
}

/** Why a rule matches, in Kubernetes' words. */
function matchOf({ onExitCodes, onPodConditions }: Rule, pod: Pod): string | undefined {
  const { name, namespace } = pod.metadata;
  if (onExitCodes !== undefined && onExitCodes !== null) {
    for (const status of [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])]) {
      const code = status.state?.terminated?.exitCode;
      if (code === undefined || code === 0 || (onExitCodes.containerName !== undefined && onExitCodes.containerName !== status.name)) continue;
      if (onExitCodes.values.includes(code) === (onExitCodes.operator === 'In')) return `Container ${status.name} for pod ${namespace}/${name} failed with exit code ${code}`;
    }
    return undefined;
  }
  const condition = pod.status?.conditions?.find(({ type, status }) => (onPodConditions ?? []).some((pattern) => pattern.type === type && (pattern.status ?? 'True') === status));
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`;
}
