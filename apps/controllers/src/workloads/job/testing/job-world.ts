import type { Job, JobSpec, Pod } from '@roundsman/api';
import { finishedAs } from '../job-end.ts';
import { planJob } from '../job-plan.ts';
import { jobPod, jobPodName } from '../job-pod.ts';
import { isTracked, trackingFinalizer } from '../job-pods.ts';
import { withPods } from '../job-status.ts';

/** For tests: a job and its pods without a cluster; every write of the controller is one step, after any of which it may die. */
export class JobWorld {
  job: Job;
  readonly pods = new Map<string, Pod>();
  /** Every pod that ever was, by uid, as it was last. */
  readonly everMade = new Map<string, Pod>();
  /** Uids of those that were one too many: their ends are not the job's. */
  readonly surplus = new Set<string>();
  nowMs = Date.UTC(2026, 0, 1);
  #made = 0;

  constructor(spec: Partial<JobSpec>) {
    const template = { metadata: { labels: { 'job-name': 'work' } }, spec: { containers: [{ name: 'main', image: 'x' }], restartPolicy: 'Never' } };
    this.job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'work', namespace: 'default', uid: 'job-uid', resourceVersion: '1', generation: 1, creationTimestamp: this.iso() },
      spec: { parallelism: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false, template, ...spec },
    } as unknown as Job;
  }

  iso(): string {
    return new Date(this.nowMs).toISOString();
  }

  get finished(): string | undefined {
    return finishedAs(this.job)?.type;
  }

  all(): Pod[] {
    return [...this.pods.values()];
  }

  /** The writes of one look, one by one, in the controller's order. Nothing between two of them is atomic. */
  *look(): Generator<string> {
    if (this.finished !== undefined) return;
    const plan = planJob(this.job, this.all(), this.nowMs);
    const names = new Set<string>();
    for (const opening of plan.open) {
      const name = jobPodName(this.job, opening, (taken) => names.has(taken) || this.pods.has(taken));
      names.add(name);
      const draft = jobPod(this.job, opening, name);
      const uid = `pod-${++this.#made}`;
      this.put({ ...draft, metadata: { ...draft.metadata, uid, resourceVersion: '1', generation: 1, creationTimestamp: this.iso() }, status: { phase: 'Pending' } } as unknown as Pod);
      yield `create ${name}`;
    }
    for (const { pod, uncounted } of plan.remove) {
      if (uncounted && isTracked(pod)) {
        this.surplus.add(pod.metadata.uid);
        this.letGo(pod.metadata.name);
        yield `let go ${pod.metadata.name}`;
      }
      this.delete(pod.metadata.name);
      yield `delete ${pod.metadata.name}`;
    }
    this.job = { ...this.job, status: withPods(plan.status, this.all()) };
    yield 'status';
    for (const pod of plan.release) {
      this.letGo(pod.metadata.name);
      yield `let go ${pod.metadata.name}`;
    }
  }

  put(pod: Pod): void {
    this.everMade.set(pod.metadata.uid, pod);
    const { deletionTimestamp, finalizers } = pod.metadata;
    const ended = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    if (deletionTimestamp !== undefined && ended && (finalizers ?? []).length === 0) this.pods.delete(pod.metadata.name);
    else this.pods.set(pod.metadata.name, pod);
  }

  delete(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    this.put({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: this.iso(), deletionGracePeriodSeconds: 0 } });
  }

  letGo(name: string): void {
    const pod = this.pods.get(name);
    if (pod === undefined) return;
    this.put({ ...pod, metadata: { ...pod.metadata, finalizers: (pod.metadata.finalizers ?? []).filter((finalizer) => finalizer !== trackingFinalizer) } });
  }

  /** Its containers end. */
  end(name: string, exitCode: number): void {
    const pod = this.pods.get(name);
    if (pod === undefined || pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed') return;
    const state = { terminated: { exitCode, finishedAt: this.iso() } };
    this.put({ ...pod, status: { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses: [{ name: 'main', state, ready: false, restartCount: 0 }] } } as unknown as Pod);
  }
}
