import { z } from 'zod';
import { core, requiredText, texts } from '../fields.ts';
import { labelSelectorSchema } from '../workload/selector.ts';

const nodeSelectorRequirementSchema = core('NodeSelectorRequirement', 'One requirement on a label or field of a node', {
  key: requiredText('Key of the label, or path of the field'),
  operator: requiredText('In, NotIn, Exists, DoesNotExist, Gt or Lt'),
  values: texts('Values for the operator'),
});
const nodeSelectorTermSchema = core('NodeSelectorTerm', 'Requirements that must all hold; an empty term chooses nothing', {
  matchExpressions: z.array(nodeSelectorRequirementSchema).optional().describe('On labels'),
  matchFields: z.array(nodeSelectorRequirementSchema).optional().describe('On fields'),
});
export type NodeSelectorRequirement = z.infer<typeof nodeSelectorRequirementSchema>;
export type NodeSelectorTerm = z.infer<typeof nodeSelectorTermSchema>;

export const nodeSelectorSchema = core('NodeSelector', 'Terms of which one must hold', {
  nodeSelectorTerms: z.array(nodeSelectorTermSchema).describe('The terms'),
});

const nodeAffinitySchema = core('NodeAffinity', 'On which nodes the pod may and should be', {
  requiredDuringSchedulingIgnoredDuringExecution: nodeSelectorSchema.optional().describe('The node must fit'),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(
      core('PreferredSchedulingTerm', 'A wish with a weight', {
        weight: z.number().int().describe('1 to 100'),
        preference: nodeSelectorTermSchema.describe('What the node should be like'),
      }),
    )
    .optional()
    .describe('The node should fit; the weights of those that hold are added'),
});
export type NodeAffinity = z.infer<typeof nodeAffinitySchema>;

const podAffinityTermSchema = core('PodAffinityTerm', 'Pods to be near to or away from', {
  labelSelector: labelSelectorSchema.optional().describe('Which pods; none unless set'),
  namespaces: texts('Namespaces of these pods; that of the pod itself unless set'),
  namespaceSelector: labelSelectorSchema.optional().describe('Namespaces of these pods, by their labels'),
  topologyKey: requiredText('Label of nodes; equal values mean the same place'),
  matchLabelKeys: texts('Labels of the pod whose values the others must have, too'),
  mismatchLabelKeys: texts('Labels of the pod whose values the others must not have'),
});
export type PodAffinityTerm = z.infer<typeof podAffinityTermSchema>;

const podTerms = {
  requiredDuringSchedulingIgnoredDuringExecution: z.array(podAffinityTermSchema).optional().describe('All must hold'),
  preferredDuringSchedulingIgnoredDuringExecution: z
    .array(
      core('WeightedPodAffinityTerm', 'A wish with a weight', {
        weight: z.number().int().describe('1 to 100'),
        podAffinityTerm: podAffinityTermSchema.describe('The pods that are meant'),
      }),
    )
    .optional()
    .describe('Should hold; the weights of those that do are added'),
};

export const affinitySchema = core('Affinity', 'Where the pod may and should be', {
  nodeAffinity: nodeAffinitySchema.optional().describe('By the node itself'),
  podAffinity: core('PodAffinity', 'Near to which pods', podTerms).optional().describe('Near to other pods'),
  podAntiAffinity: core('PodAntiAffinity', 'Away from which pods', podTerms).optional().describe('Away from other pods'),
});
export type Affinity = z.infer<typeof affinitySchema>;
