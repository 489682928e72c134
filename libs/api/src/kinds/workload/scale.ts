import type { Kind } from '../../kind.ts';
import { labelSelectorText } from '../../label-selector.ts';
import type { LabelSelector } from './selector.ts';

/** `/scale` of what keeps a number of pods by a label selector. */
export const replicasScale: NonNullable<Kind['scale']> = {
  selector: (object) => labelSelectorText((object.spec as { selector?: LabelSelector }).selector),
};
