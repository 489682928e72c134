import { isPodEnded, type Job, type Pod } from '@roundsman/api';

/** Keeps an ended pod until it is counted: a pod without it has been counted, or never counts. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking';
export const indexAnnotation = 'batch.kubernetes.io/job-completion-index';
/** Of a pod of a job with a back-off limit per index: failures of its index before it, counted and ignored ones. */
export const indexFailuresAnnotation = 'batch.kubernetes.io/job-index-failure-count';
export const indexIgnoredFailuresAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count';

export const isTracked = ({ metadata }: Pod): boolean => metadata.finalizers?.includes(trackingFinalizer) === true;
export const isTerminating = (pod: Pod): boolean => !isPodEnded(pod) && pod.metadata.deletionTimestamp !== undefined;
export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === 'Indexed';

/** A pod that is being deleted is replaced only when it has ended. */
export const replacesOnlyFailed = ({ spec }: Job): boolean => spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined;

/** A deleted pod that nobody waits for has failed at once: its node may never tell of its end. */
export const hasFailed = (pod: Pod, job: Job): boolean => pod.status?.phase === 'Failed' || (isTerminating(pod) && !replacesOnlyFailed(job));

/** The index a pod works on; undefined without a valid one. */
export function indexOf(pod: Pod, job: Job): number | undefined {
  const text = pod.metadata.annotations?.[indexAnnotation];
  if (text === undefined || !/^\d{1,10}$/.test(text)) return undefined;
  const index = Number(text);
  return index < (job.spec.completions ?? 0) ? index : undefined;
}

/** Whether its end counts at all: pods of an indexed job do so only with a valid index. */
export const countsFor = (pod: Pod, job: Job): boolean => !isIndexed(job) || indexOf(pod, job) !== undefined;

const annotatedCount = (pod: Pod, annotation: string): number => {
  const text = pod.metadata.annotations?.[annotation];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
};
export const failuresBefore = (pod: Pod): { counted: number; ignored: number } => ({ counted: annotatedCount(pod, indexFailuresAnnotation), ignored: annotatedCount(pod, indexIgnoredFailuresAnnotation) });

/** When a pod ended: its last container, else when it stopped being ready, else when its deletion was asked for. Milliseconds. */
export function endedAtMs(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt);
  if (ends.length > 0 && ends.every((end) => end !== undefined)) return Math.max(...ends.map((end) => Date.parse(end)));
  const unready = pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'False')?.lastTransitionTime;
  if (unready !== undefined && unready !== null) return Date.parse(unready);
  const { deletionTimestamp, deletionGracePeriodSeconds, creationTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - (deletionGracePeriodSeconds ?? 0) * 1000;
  return Date.parse(creationTimestamp);
}
