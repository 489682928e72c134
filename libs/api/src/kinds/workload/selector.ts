import { z } from 'zod';
import { message, requiredText, textMap, texts } from '../fields.ts';

const prefix = 'io.k8s.apimachinery.pkg.apis.meta.v1';

export const labelSelectorRequirementSchema = message(`${prefix}.LabelSelectorRequirement`, 'One requirement on a label', {
  key: requiredText('Key of the label'),
  operator: requiredText('In, NotIn, Exists or DoesNotExist'),
  values: texts('Values for In and NotIn'),
});

/** Both parts must hold; an empty selector chooses everything. */
export const labelSelectorSchema = message(`${prefix}.LabelSelector`, 'Chooses objects by their labels', {
  matchLabels: textMap('Labels that must be there with these values'),
  matchExpressions: z.array(labelSelectorRequirementSchema).optional().describe('Requirements that must all hold'),
});
export type LabelSelectorRequirement = z.infer<typeof labelSelectorRequirementSchema>;
export type LabelSelector = z.infer<typeof labelSelectorSchema>;
