import { createHash } from 'node:crypto';
import type { Job, PodSpec } from '@roundsman/api';
import { podFrom, type PodDraft } from '../pods.ts';
import { indexAnnotation, indexFailuresAnnotation, indexIgnoredFailuresAnnotation, trackingFinalizer } from './job-pods.ts';
import type { Opening } from './job-size.ts';

/** Names may be 63 characters long; the last five are the suffix. */
const prefixLimit = 58;
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/**
 * The name follows from the job and the place of the pod in it, so a pod that is made twice (by a leader that was cut off, and by the next) is one.
 * `isTaken` tells of names that are in use: the next ordinal is taken then.
 */
export function jobPodName({ metadata: { name, uid } }: Job, { ordinal, index }: Opening, isTaken: (name: string) => boolean): string {
  const middle = index === undefined ? '-' : `-${index}-`;
  const prefix = `${name.slice(0, prefixLimit - middle.length)}${middle}`;
  for (let n = ordinal; ; n++) {
    const hash = createHash('sha256').update(`${uid}/${index ?? ''}/${n}`).digest();
    const candidate = prefix + [...hash.subarray(0, 5)].map((byte) => letters[byte % letters.length]).join('');
    if (!isTaken(candidate)) return candidate;
  }
}

export function jobPod(job: Job, opening: Opening, name: string): PodDraft {
  const { index, failures } = opening;
  const draft = podFrom(job, job.spec.template);
  const { generateName: _, ...metadata } = draft.metadata;
  const finalizers = [...new Set([...(metadata.finalizers ?? []), trackingFinalizer])];
  if (index === undefined) return { ...draft, metadata: { ...metadata, name, finalizers } };
  const ignored = failures?.ignored ?? 0;
  return {
    ...draft,
    metadata: {
      ...metadata,
      name,
      finalizers,
      labels: { ...metadata.labels, [indexAnnotation]: String(index) },
      annotations: {
        ...metadata.annotations,
        [indexAnnotation]: String(index),
        ...(failures === undefined ? {} : { [indexFailuresAnnotation]: String(failures.counted) }),
        ...(ignored === 0 ? {} : { [indexIgnoredFailuresAnnotation]: String(ignored) }),
      },
    },
    spec: withIndex({ ...draft.spec, hostname: `${job.metadata.name}-${index}` }),
  };
}

const indexVariable = 'JOB_COMPLETION_INDEX';

/** The index as an environment variable of every container that does not set it itself. */
function withIndex(spec: PodSpec): PodSpec {
  const variable = { name: indexVariable, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: `metadata.labels['${indexAnnotation}']` } } };
  const set = <C extends { env?: PodSpec['containers'][number]['env'] }>(container: C): C => (container.env?.some(({ name }) => name === indexVariable) === true ? container : { ...container, env: [...(container.env ?? []), variable] });
  return { ...spec, containers: spec.containers.map(set), ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(set) }) };
}
