import { decode, kindByResource, type Pod, type PodSpecInput } from '@roundsman/api';
import type { Run } from '../containers/run.ts';
import { specHash } from '../containers/spec-hash.ts';

/** A pod with Kubernetes' defaults, as intake stores it. */
export function podOf(spec: PodSpecInput, status?: Pod['status']): Pod {
  const metadata = { name: 'web', namespace: 'default', uid: 'uid-1', resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' };
  const { object } = decode(kindByResource.get('pods')!, { metadata, spec }, 'Strict');
  return { ...(object as unknown as Pod), ...(status === undefined ? {} : { status }) };
}

export const container = (name = 'main', more: Partial<PodSpecInput['containers'][number]> = {}): PodSpecInput['containers'][number] => ({ name, image: 'busybox:1.35', ...more });

/** A run that began at 1,000,000 and runs. */
export const runOfName = (name = 'main', more: Partial<Run> = {}): Run => ({
  id: `${name}-${more.attempt ?? 0}`,
  name,
  attempt: 0,
  state: 'running',
  exitCode: 0,
  oomKilled: false,
  startProblem: undefined,
  createdAt: 1_000_000,
  startedAt: 1_000_000,
  finishedAt: 1_000_000,
  image: 'busybox:1.35',
  imageId: 'sha256:1',
  specHash: specHash({ name, image: 'busybox:1.35' }),
  backOffMs: 0,
  sandboxRun: 's1',
  ...more,
});
