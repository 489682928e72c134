import type { Column } from './kind.ts';

/**
 * How kubectl writes a length of time: `45s`, `3m20s`, `47m`, `5h12m`, `31h`, `3d4h`, `12d`, `2y30d`. Milliseconds in;
 * negative counts as zero.
 */
export function humanDuration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const years = Math.floor(days / 365);
  const both = (major: number, unit: string, minor: number, lesser: string): string => `${major}${unit}${minor === 0 ? '' : `${minor}${lesser}`}`;
  if (seconds < 120) return `${seconds}s`;
  if (minutes < 10) return both(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  if (hours < 8) return both(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  if (days < 8) return both(days, 'd', hours % 24, 'h');
  if (days < 730) return `${days}d`;
  if (years < 8) return both(years, 'y', days % 365, 'd');
  return `${years}y`;
}

/** Time since an RFC 3339 timestamp; `<unknown>` without one. */
export function ageOf(timestamp: unknown, now: number): string {
  const then = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now - then);
}

/** A value in an object by path, `undefined` where any member is absent. */
export function valueAt(object: unknown, ...path: readonly (string | number)[]): unknown {
  let value = object;
  for (const step of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

export const textAt = (object: unknown, ...path: readonly (string | number)[]): string | undefined => {
  const value = valueAt(object, ...path);
  return typeof value === 'string' ? value : undefined;
};
export const numberAt = (object: unknown, ...path: readonly (string | number)[]): number | undefined => {
  const value = valueAt(object, ...path);
  return typeof value === 'number' ? value : undefined;
};

/** One column; `wide` columns are shown only with -o wide. */
export const column = (name: string, type: Column['type'], description: string, cell: Column['cell'], options: { wide?: boolean; format?: string } = {}): Column => ({
  name,
  type,
  description,
  cell,
  priority: options.wide ? 1 : 0,
  ...(options.format !== undefined && { format: options.format }),
});

/** First column of every kind. */
export const nameColumn = column('Name', 'string', 'Name of the object, unique within its namespace', (object) => object.metadata.name, { format: 'name' });
/** Last of the columns that are always shown. */
export const ageColumn = column('Age', 'string', 'Time since the object was created', (object, now) => ageOf(object.metadata.creationTimestamp, now));
