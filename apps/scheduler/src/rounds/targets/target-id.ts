import { createHash } from 'node:crypto';

const longest = 253;

/** The same whatever the round: part of the natural key of results. Too long ones end in a hash. */
export function targetId(text: string): string {
  if (text.length <= longest) return text;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return `${text.slice(0, longest - hash.length - 1)}~${hash}`;
}
