import { z } from 'zod';
import { message, quantitySchema, requiredText, text, whole } from '../fields.ts';
import { labelSelectorSchema } from '../workload/selector.ts';

const of = <const Shape extends z.ZodRawShape>(name: string, about: string, shape: Shape) => message(`io.k8s.api.autoscaling.v2.${name}`, about, shape);

/** Names an object in the same namespace. */
export const objectReferenceSchema = of('CrossVersionObjectReference', 'Names an object in the same namespace', {
  kind: requiredText('Its kind'),
  name: requiredText('Its name'),
  apiVersion: text('Its API version'),
});
const identifier = of('MetricIdentifier', 'Names a metric', {
  name: requiredText('Name of the metric'),
  selector: labelSelectorSchema.optional().describe('Chooses among metrics of one name'),
});
const target = of('MetricTarget', 'What a metric is to be', {
  type: requiredText('Which member holds it: Utilization, Value or AverageValue'),
  value: quantitySchema.optional().describe('The value itself'),
  averageValue: quantitySchema.optional().describe('The mean over all pods'),
  averageUtilization: whole('The mean over all pods in percent of what they request; only for resources'),
});
const value = of('MetricValueStatus', 'What a metric is', {
  value: quantitySchema.optional().describe('The value itself'),
  averageValue: quantitySchema.optional().describe('The mean over all pods'),
  averageUtilization: whole('The mean over all pods in percent of what they request'),
});
const resourceName = requiredText('Name of the resource: cpu or memory');
const container = requiredText('Name of the container');

const sourceTypes = 'ContainerResource, External, Object, Pods or Resource';

/** One thing to scale by. Exactly the member is given that `type` says. */
export const metricSpecSchema = of('MetricSpec', 'Something to scale by, and what it is to be', {
  type: requiredText(`Where it comes from: ${sourceTypes}`),
  object: of('ObjectMetricSource', 'A metric of one object', { describedObject: objectReferenceSchema.describe('Which object'), target: target.describe('What it is to be'), metric: identifier.describe('Which metric') })
    .optional()
    .describe('A metric of one object'),
  pods: of('PodsMetricSource', 'A metric of each pod', { metric: identifier.describe('Which metric'), target: target.describe('What it is to be') })
    .optional()
    .describe('A metric of each pod'),
  resource: of('ResourceMetricSource', 'A resource that pods use', { name: resourceName, target: target.describe('What it is to be') })
    .optional()
    .describe('A resource that pods use, all containers together'),
  containerResource: of('ContainerResourceMetricSource', 'A resource that one container of each pod uses', { name: resourceName, target: target.describe('What it is to be'), container })
    .optional()
    .describe('A resource that one container of each pod uses'),
  external: of('ExternalMetricSource', 'A metric of no object of the cluster', { metric: identifier.describe('Which metric'), target: target.describe('What it is to be') })
    .optional()
    .describe('A metric of no object of the cluster'),
});

/** What was read of one metric; an empty `type` stands for one that could not be read. */
export const metricStatusSchema = of('MetricStatus', 'What was read of a metric', {
  type: z.string().default('').describe(`Where it comes from: ${sourceTypes}`),
  object: of('ObjectMetricStatus', 'A metric of one object', { metric: identifier.describe('Which metric'), current: value.describe('What it is'), describedObject: objectReferenceSchema.describe('Which object') })
    .optional()
    .describe('A metric of one object'),
  pods: of('PodsMetricStatus', 'A metric of each pod', { metric: identifier.describe('Which metric'), current: value.describe('What it is') })
    .optional()
    .describe('A metric of each pod'),
  resource: of('ResourceMetricStatus', 'A resource that pods use', { name: resourceName, current: value.describe('What it is') })
    .optional()
    .describe('A resource that pods use, all containers together'),
  containerResource: of('ContainerResourceMetricStatus', 'A resource that one container of each pod uses', { name: resourceName, current: value.describe('What it is'), container })
    .optional()
    .describe('A resource that one container of each pod uses'),
  external: of('ExternalMetricStatus', 'A metric of no object of the cluster', { metric: identifier.describe('Which metric'), current: value.describe('What it is') })
    .optional()
    .describe('A metric of no object of the cluster'),
});

export type MetricTarget = z.infer<typeof target>;
export type MetricIdentifier = z.infer<typeof identifier>;
export type MetricValue = z.infer<typeof value>;
export type MetricSpec = z.infer<typeof metricSpecSchema>;
export type MetricStatus = z.infer<typeof metricStatusSchema>;
export type ObjectReference = z.infer<typeof objectReferenceSchema>;
