import type { HorizontalPodAutoscaler, HorizontalPodAutoscalerCondition, HorizontalPodAutoscalerStatus, MetricStatus } from '@roundsman/api';
import { wholeSeconds } from '../timestamps.ts';

type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

/** The status that is being made out of the one there is. */
export class StatusDraft {
  readonly #before: HorizontalPodAutoscalerStatus;
  readonly #nowMs: number;
  readonly #generation: number | undefined;
  #conditions: readonly HorizontalPodAutoscalerCondition[];
  #numbers: Pick<HorizontalPodAutoscalerStatus, 'currentReplicas' | 'desiredReplicas' | 'currentMetrics'>;
  #scaled = false;

  constructor({ metadata, status }: HorizontalPodAutoscaler, nowMs: number) {
    this.#before = status ?? { desiredReplicas: 0 };
    this.#nowMs = nowMs;
    this.#generation = metadata.generation;
    this.#conditions = this.#before.conditions ?? [];
    const { currentReplicas, desiredReplicas, currentMetrics } = this.#before;
    this.#numbers = { currentReplicas, desiredReplicas, currentMetrics };
  }

  /** In the place of the one there is; its time changes with its status only. */
  condition(type: ConditionType, holds: boolean, reason: string, message: string): void {
    const status = holds ? 'True' : 'False';
    const before = this.#conditions.find((one) => one.type === type);
    const next: HorizontalPodAutoscalerCondition = { type, status, lastTransitionTime: before?.status === status ? before.lastTransitionTime : wholeSeconds(this.#nowMs), reason, message };
    this.#conditions = before === undefined ? [...this.#conditions, next] : this.#conditions.map((one) => (one === before ? next : one));
  }

  /** `desired` undefined: as it was. */
  numbers(current: number, desired: number | undefined, metrics: readonly MetricStatus[] | undefined): void {
    this.#numbers = { currentReplicas: current, desiredReplicas: desired ?? this.#before.desiredReplicas, currentMetrics: metrics === undefined ? null : [...metrics] };
  }

  /** The number of pods was changed now. */
  scaled(): void {
    this.#scaled = true;
  }

  /** The whole of it. */
  get made(): HorizontalPodAutoscalerStatus {
    const { currentReplicas, desiredReplicas, currentMetrics } = this.#numbers;
    const lastScaleTime = this.#scaled ? wholeSeconds(this.#nowMs) : this.#before.lastScaleTime;
    return {
      ...(this.#generation === undefined ? {} : { observedGeneration: this.#generation }),
      ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
      ...(currentReplicas === undefined ? {} : { currentReplicas }),
      desiredReplicas,
      currentMetrics: currentMetrics ?? null,
      ...(this.#conditions.length === 0 ? {} : { conditions: [...this.#conditions] }),
    };
  }
}
