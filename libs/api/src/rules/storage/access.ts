import type { Cause } from '../../kind.ts';
import { parseQuantity } from '../../quantity.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../causes.ts';

const supported = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/** `none`: what is said where there are none. */
export function accessModeCauses(modes: readonly string[] | undefined, field: string, none: string): Cause[] {
  if (modes === undefined || modes.length === 0) return [required(field, none)];
  const causes = modes.filter((mode) => !supported.includes(mode)).map((mode) => notSupported(field, mode, supported));
  if (modes.includes('ReadWriteOncePod') && modes.some((mode) => mode !== 'ReadWriteOncePod' && supported.includes(mode))) causes.push(forbiddenField(field, 'may not use ReadWriteOncePod with other access modes'));
  return causes;
}

export const sizeCauses = (amount: string, field: string): Cause[] => (parseQuantity(amount) > 0 ? [] : [invalidValue(field, amount, 'must be greater than zero')]);
