import type { Pod, PodTemplateSpec, StatefulSet } from '@roundsman/api';
import { podFrom, type PodDraft } from '../pods.ts';

/** On pods: the name of the revision they are from. */
export const revisionLabel = 'controller-revision-hash';
const nameLabel = 'statefulset.kubernetes.io/pod-name';
const indexLabel = 'apps.kubernetes.io/pod-index';

export const ordinalName = ({ metadata }: StatefulSet, ordinal: number): string => `${metadata.name}-${ordinal}`;

/** The ordinal of one of its pods; undefined for a name that it would not give. */
export function ordinalOf(set: StatefulSet, { metadata }: Pod): number | undefined {
  const [, text] = metadata.name.startsWith(`${set.metadata.name}-`) ? (/^-(0|[1-9]\d{0,9})$/.exec(metadata.name.slice(set.metadata.name.length)) ?? []) : [];
  return text === undefined ? undefined : Number(text);
}

/** The pod of an ordinal: always the same name, under which it is also known to the others. */
export function ordinalPod(set: StatefulSet, ordinal: number, template: PodTemplateSpec, revision: string): PodDraft {
  const { metadata, spec, ...draft } = podFrom(set, template);
  const { generateName: _, ...meta } = metadata;
  const name = ordinalName(set, ordinal);
  const { serviceName } = set.spec;
  return {
    ...draft,
    metadata: { ...meta, name, labels: { ...meta.labels, [revisionLabel]: revision, [nameLabel]: name, [indexLabel]: String(ordinal) } },
    spec: { ...spec, hostname: name, ...(serviceName === '' ? {} : { subdomain: serviceName }) },
  };
}

/** Labels that say who it is; undefined when it has them. */
export function identityOf(set: StatefulSet, pod: Pod): Record<string, string> | undefined {
  const labels = { [nameLabel]: pod.metadata.name, [indexLabel]: String(ordinalOf(set, pod)) };
  return Object.entries(labels).every(([key, value]) => pod.metadata.labels?.[key] === value) ? undefined : { ...pod.metadata.labels, ...labels };
}
