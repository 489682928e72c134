import { z } from 'zod';
import { core, quantities, requiredText, text } from '../fields.ts';

export const resourceRequirementsSchema = core('ResourceRequirements', 'What a container needs and may use', {
  limits: quantities('The most it may use'),
  requests: quantities('What is set aside for it; the limits unless set'),
  claims: z
    .array(core('ResourceClaim', 'A claim of the pod', { name: requiredText('Name of the claim'), request: text('Part of the claim') }))
    .optional()
    .describe('Claims of the pod that the container uses'),
});
export type ResourceRequirements = z.infer<typeof resourceRequirementsSchema>;
