import { isDeepStrictEqual } from 'node:util';

/** The members that differ, one line for what was and one for what would be. */
export function differences<T extends object>(old: T, next: T): string {
  const lines = [...new Set([...Object.keys(old), ...Object.keys(next)])].sort().flatMap((member) => {
    const [before, after] = [old[member as keyof T], next[member as keyof T]];
    if (isDeepStrictEqual(before, after)) return [];
    const line = (sign: string, value: unknown): string[] => (value === undefined ? [] : [`${sign} ${member}: ${JSON.stringify(value)}`]);
    return [...line('-', before), ...line('+', after)];
  });
  return lines.join('\n');
}
