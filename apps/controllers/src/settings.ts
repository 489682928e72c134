import { z } from 'zod';

const milliseconds = (value: number) => z.coerce.number().int().min(100).default(value);

/** Environment variables `ROUNDSMAN_CONTROLLERS_<KEY>`; milliseconds. */
export const settingsSchema = z.object({
  runtime: z.string().default('default').describe('Runtime whose runners carry the tasks'),
  runnerLostMs: milliseconds(5_000).describe('A runner that is silent for so long is not ready'),
  runnerRemoveMs: milliseconds(24 * 3_600_000).describe('A runner that is lost for so long is forgotten'),
  nodeLostMs: milliseconds(10_000).describe('The readiness of a node that is silent for so long is unknown'),
  nodeTaintsPerSecond: z.coerce.number().positive().default(0.1).describe('Nodes whose pods are told to leave because they are lost or not ready, per second and zone'),
  endedPodsKept: z.coerce.number().int().min(0).default(12_500).describe('Pods that have ended are kept up to so many'),
  roundsKept: z.coerce.number().int().min(10).default(10).describe('Closed rounds kept per task'),
  autoscalerIntervalMs: milliseconds(15_000).describe('Every autoscaler looks so often at what its pods use'),
  autoscalerTolerance: z.coerce.number().min(0).lt(1).default(0.1).describe('So far from 1 the ratio of use to target may be without a change of the number of pods'),
  autoscalerCpuInitializationMs: z.coerce.number().int().min(0).default(300_000).describe('For so long after its start the processor time of a pod counts only while it is ready, and measured since it became so'),
  autoscalerInitialReadinessDelayMs: z.coerce.number().int().min(0).default(30_000).describe('A pod that became unready within so long after its start has never been ready'),
  autoscalerDownscaleStabilizationMs: z.coerce.number().int().min(0).default(300_000).describe('The highest recommendation of so long counts before pods are taken away, where behavior.scaleDown says nothing'),
  eventTtlMs: milliseconds(3_600_000).describe('Events are kept so long'),
});
export type Settings = z.infer<typeof settingsSchema>;
