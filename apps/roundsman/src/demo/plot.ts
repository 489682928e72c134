import { latencyText, type LatencySummary } from '@roundsman/api';

/** A logarithmic axis over all latencies that will be drawn on it. */
export interface Axis {
  readonly fromUs: number;
  readonly toUs: number;
  readonly width: number;
}

/** Whole decades, so that axes of different reports read alike. */
export function axisFor(latencies: readonly LatencySummary[], width: number): Axis {
  const least = Math.min(...latencies.map(({ minUs }) => Math.max(1, minUs)));
  const most = Math.max(...latencies.map(({ maxUs }) => Math.max(1, maxUs)));
  const fromUs = 10 ** Math.floor(Math.log10(least));
  return { fromUs, toUs: Math.max(10 ** Math.ceil(Math.log10(most)), fromUs * 10), width };
}

export function columnOf(us: number, { fromUs, toUs, width }: Axis): number {
  const share = Math.log10(Math.max(us, fromUs) / fromUs) / Math.log10(toUs / fromUs);
  return Math.min(width - 1, Math.round(share * (width - 1)));
}

/** `├──▒▒█▒▒▒───┤`: least and greatest at the ends, the shaded part from the median to p99, the block at p50. */
export function box({ minUs, p50Us, p90Us, p99Us, maxUs }: LatencySummary, axis: Axis): string {
  const cells = Array.from({ length: axis.width }, () => ' ');
  const fill = (fromUs: number, toUs: number, mark: string): void => {
    for (let at = columnOf(fromUs, axis); at <= columnOf(toUs, axis); at += 1) cells[at] = mark;
  };
  fill(minUs, maxUs, '─');
  cells[columnOf(minUs, axis)] = '├';
  cells[columnOf(maxUs, axis)] = '┤';
  fill(p50Us, p99Us, '░');
  fill(p50Us, p90Us, '▒');
  cells[columnOf(p50Us, axis)] = '█';
  return cells.join('');
}

/** The decades under the boxes. */
export function ruler(axis: Axis): string {
  const cells = Array.from({ length: axis.width }, () => ' ');
  for (let us = axis.fromUs; us <= axis.toUs * 1.001; us *= 10) {
    const label = (latencyText(us) ?? '').replace(/\.0+(?=[a-z])/, '');
    const at = Math.min(columnOf(us, axis), axis.width - label.length);
    for (const [index, letter] of [...label].entries()) cells[at + index] = letter;
  }
  return cells.join('');
}
