import type { Affinity, DaemonSet, Pod } from '@roundsman/api';
import { podFrom, type PodDraft } from '../pods.ts';
import { daemonTolerations } from './node-fit.ts';

/** On pods and revisions: from which template they are. */
export const hashLabel = 'controller-revision-hash';

/** A pod for one node. The scheduler binds it: it may go nowhere else, and waits there for room. */
export function daemonPod(set: DaemonSet, nodeName: string, hash: string): PodDraft {
  const draft = podFrom(set, set.spec.template);
  const { spec } = draft;
  const automatic = daemonTolerations(spec).filter(({ key, effect }) => spec.tolerations?.some((own) => own.key === key && own.effect === effect && own.operator === 'Exists') !== true);
  return {
    ...draft,
    metadata: { ...draft.metadata, labels: { ...draft.metadata.labels, [hashLabel]: hash } },
    spec: { ...spec, tolerations: [...(spec.tolerations ?? []), ...automatic], affinity: pinnedTo(nodeName, spec.affinity) },
  };
}

/** The rest of the node affinity has been decided upon already. */
function pinnedTo(nodeName: string, affinity: Affinity | undefined): Affinity {
  const pin = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }] }] };
  return { ...affinity, nodeAffinity: { ...affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: pin } };
}

/** The node that a pod is on or is for. */
export function nodeOf({ spec }: Pod): string | undefined {
  if (spec.nodeName !== undefined && spec.nodeName !== '') return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields = [] } of terms) {
    const pin = matchFields.find(({ key, operator, values }) => key === 'metadata.name' && operator === 'In' && values?.length === 1);
    if (pin !== undefined) return pin.values?.[0];
  }
  return undefined;
}
