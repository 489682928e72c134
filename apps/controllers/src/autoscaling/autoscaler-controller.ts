import { selects, type HorizontalPodAutoscaler, type Pod, type PodMetrics } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import { NodeStats, podMetricsOf } from '@roundsman/usage';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { StatusDraft } from './autoscaler-status.ts';
import { desiredReplicas } from './metrics/desired-replicas.ts';
import { firstHistory, scaled, type History } from './pace/history.ts';
import { paced } from './pace/paced.ts';
import { Rivals } from './rivals/rivals.ts';
import { NoScale, scaleTarget, type ScaleTarget } from './scale-target.ts';

/** An answer of an agent serves all autoscalers of one round. */
const longestFreshMs = 5_000;

/** How many pods there are to be, and why. */
interface Decision {
  /** Undefined: as many as there are. */
  readonly replicas?: number;
  /** Of the event. */
  readonly reason?: string;
}

/** Keeps as many pods as what they use asks for, as the autoscaler of Kubernetes does: looks at each every interval, and when its spec changes. */
export function autoscalers({ caches, objects, recorder, bus, settings }: Deps): LoopDefinition {
  const tell = recorder.from('horizontal-pod-autoscaler');
  const cache = caches.autoscalers;
  const stats = new NodeStats(bus, { freshMs: Math.min(longestFreshMs, settings.autoscalerIntervalMs / 2) });
  const readiness = { cpuInitializationMs: settings.autoscalerCpuInitializationMs, initialReadinessDelayMs: settings.autoscalerInitialReadinessDelayMs };
  /** By uid. Lost with the term, as in Kubernetes: the present number is then the first recommendation, so nothing is taken away before a window has passed. */
  const histories = new Map<string, History>();
  const rivals = new Rivals(caches);

  const podsOf = ({ metadata }: HorizontalPodAutoscaler, { selector }: ScaleTarget): Pod[] =>
    caches.pods.by('namespace', metadata.namespace ?? '').filter((pod) => selects(selector, pod.metadata.labels));

  async function usageOf(pods: readonly Pod[]): Promise<PodMetrics[]> {
    const told = await stats.of(pods.flatMap(({ spec }) => spec.nodeName || []));
    return pods.flatMap((pod) => {
      const one = told.get(pod.spec.nodeName ?? '');
      return (one && podMetricsOf(pod, one)) ?? [];
    });
  }

  /** Why the pods of the target cannot be told, which is told; undefined when they can. */
  function selectorProblem(autoscaler: HorizontalPodAutoscaler, target: ScaleTarget, pods: readonly Pod[], status: StatusDraft): string | undefined {
    if (target.selectorText === '') {
      tell(autoscaler, 'Warning', 'SelectorRequired', 'selector is required');
      status.condition('ScalingActive', false, 'InvalidSelector', "the HPA target's scale is missing a selector");
      return 'selector is required';
    }
    const names = rivals.choosing(autoscaler, pods);
    if (names.length <= 1) return undefined;
    const message = `pods by selector ${target.selectorText} are controlled by multiple HPAs: [${names.map((name) => `{${name} ${autoscaler.metadata.namespace}}`).join(' ')}]`;
    tell(autoscaler, 'Warning', 'AmbiguousSelector', message);
    status.condition('ScalingActive', false, 'AmbiguousSelector', message);
    return message;
  }

  /** What the metrics ask for, held to limits and pace. Undefined when it cannot be told; the status then says so. */
  async function byMetrics(autoscaler: HorizontalPodAutoscaler, target: ScaleTarget, status: StatusDraft): Promise<Decision | undefined> {
    const { metadata, spec } = autoscaler;
    const { replicas: current } = target;
    const pods = podsOf(autoscaler, target);
    const problem = selectorProblem(autoscaler, target, pods, status);
    if (problem !== undefined) {
      status.numbers(current, undefined, undefined);
      tell(autoscaler, 'Warning', 'FailedComputeMetricsReplicas', problem);
      return undefined;
    }
    const told = await usageOf(pods);
    const nowMs = Date.now();
    const desired = desiredReplicas(spec.metrics ?? [], { pods, told, namespace: metadata.namespace ?? '', currentReplicas: current, readiness, tolerance: settings.autoscalerTolerance, nowMs });
    for (const { reason, message } of desired.failures) tell(autoscaler, 'Warning', reason, message);
    if (desired.replicas === undefined) {
      const [first] = desired.failures;
      if (first !== undefined) status.condition('ScalingActive', false, first.reason, `the HPA was unable to compute the replica count: ${first.message}`);
      status.numbers(current, undefined, desired.statuses);
      tell(autoscaler, 'Warning', 'FailedComputeMetricsReplicas', desired.problem ?? '');
      return undefined;
    }
    status.condition('ScalingActive', true, 'ValidMetricFound', `the HPA was able to successfully calculate a replica count from ${desired.metric}`);
    const wish = { current, desired: desired.replicas, min: spec.minReplicas, max: spec.maxReplicas, behavior: spec.behavior, downscaleStabilizationMs: settings.autoscalerDownscaleStabilizationMs };
    const { replicas, ableToScale, limited, history } = paced(wish, histories.get(metadata.uid) as History, nowMs);
    histories.set(metadata.uid, history);
    status.condition('AbleToScale', true, ableToScale.reason, ableToScale.message);
    status.condition('ScalingLimited', limited.holds, limited.reason, limited.message);
    status.numbers(current, replicas, desired.statuses);
    const reason = desired.replicas > current ? `${desired.metric} above target` : desired.replicas < current ? 'All metrics below target' : '';
    return replicas === current ? {} : { replicas, reason };
  }

  async function decide(autoscaler: HorizontalPodAutoscaler, target: ScaleTarget, status: StatusDraft): Promise<Decision | undefined> {
    const { minReplicas, maxReplicas } = autoscaler.spec;
    const { replicas: current } = target;
    if (current === 0) {
      status.condition('ScalingActive', false, 'ScalingDisabled', 'scaling is disabled since the replica count of the target is zero');
      status.numbers(0, 0, undefined);
      return {};
    }
    const outside = current > maxReplicas ? { replicas: maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' } : current < minReplicas ? { replicas: minReplicas, reason: 'Current number of replicas below Spec.MinReplicas' } : undefined;
    if (outside === undefined) return byMetrics(autoscaler, target, status);
    status.numbers(current, outside.replicas, undefined);
    return outside;
  }

  async function rescale(autoscaler: HorizontalPodAutoscaler, { cache: targets, object, replicas: before }: ScaleTarget, replicas: number, reason: string, status: StatusDraft): Promise<void> {
    try {
      await objects.update(targets, { ...object, spec: { ...(object.spec as object), replicas } });
    } catch (error) {
      // It has changed meanwhile: all of it is looked at anew.
      if (!(error instanceof ServiceError) || error.code === 409) throw error;
      tell(autoscaler, 'Warning', 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${error.message}`);
      status.condition('AbleToScale', false, 'FailedUpdateScale', `the HPA controller was unable to update the target scale: ${error.message}`);
      status.numbers(before, undefined, status.made.currentMetrics ?? undefined);
      return;
    }
    status.condition('AbleToScale', true, 'SucceededRescale', `the HPA controller was able to update the target scale to ${replicas}`);
    status.scaled();
    tell(autoscaler, 'Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
    const { uid } = autoscaler.metadata;
    if (autoscaler.spec.behavior !== undefined) histories.set(uid, scaled(histories.get(uid) as History, before, replicas, Date.now()));
  }

  return {
    name: 'autoscalers',
    resyncMs: settings.autoscalerIntervalMs,
    keys: () => {
      // Targets may have come, gone or come again since the last round.
      for (const autoscaler of cache.list()) rivals.changed(autoscaler);
      return keysOf(cache)();
    },
    wakes: [
      onChange(cache, ({ type, object, before }) => {
        if (type === 'DELETED') {
          histories.delete(object.metadata.uid);
          rivals.gone(object);
        } else rivals.changed(object);
        return type === 'DELETED' || before?.metadata.generation === object.metadata.generation ? [] : [objectKey(object)];
      }),
    ],
    async reconcile(key) {
      const autoscaler = byKey(cache, key);
      if (autoscaler === undefined || autoscaler.metadata.deletionTimestamp !== undefined) return;
      const { uid } = autoscaler.metadata;
      const status = new StatusDraft(autoscaler, Date.now());
      try {
        const target = scaleTarget(autoscaler, caches);
        status.condition('AbleToScale', true, 'SucceededGetScale', "the HPA controller was able to get the target's current scale");
        if (!histories.has(uid)) histories.set(uid, firstHistory(target.replicas, Date.now()));
        const decision = await decide(autoscaler, target, status);
        if (decision?.replicas !== undefined) await rescale(autoscaler, target, decision.replicas, decision.reason ?? '', status);
      } catch (error) {
        if (!(error instanceof NoScale)) throw error;
        tell(autoscaler, 'Warning', 'FailedGetScale', error.message);
        status.condition('AbleToScale', false, 'FailedGetScale', `the HPA controller was unable to get the target's current scale: ${error.message}`);
      }
      await objects.updateStatus(cache, autoscaler, status.made);
    },
  };
}
