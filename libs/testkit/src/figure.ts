/** One figure of a benchmark: ours against a peer measured in the same run, or against a bound. `scripts/bench.mjs` makes a row of it. */
export interface Figure {
  readonly name: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number;
  readonly peerName: string;
  /** ours / peer; of a bound of 0, ours. */
  readonly ratio: number;
  /** What is wanted, in words. */
  readonly goal: string;
  readonly met: boolean;
  /** What explains the figure; printed with it, not in the table. */
  readonly details?: Record<string, number>;
}

type Sense = '<' | '<=' | '>=';

const holds: Record<Sense, (value: number, bound: number) => boolean> = { '<': (value, bound) => value < bound, '<=': (value, bound) => value <= bound, '>=': (value, bound) => value >= bound };

const rounded = (value: number): number => Math.round(value * 1000) / 1000;

/** A figure that must lie on one side of a bound; a bound of 0 is for what there must not be. */
export function bounded(name: string, unit: string, ours: number, sense: Sense, bound: number): Figure {
  const met = bound === 0 ? ours === 0 : holds[sense](ours, bound);
  return { name, unit, ours: rounded(ours), peer: bound, peerName: 'bound', ratio: rounded(bound === 0 ? ours : ours / bound), goal: bound === 0 ? 'none' : `${sense} ${bound} ${unit}`, met };
}

/** A figure beside that of another program in the same run. */
export function compared(name: string, unit: string, ours: number, peerName: string, peer: number, goal: string, met: (ours: number, peer: number) => boolean): Figure {
  return { name, unit, ours: rounded(ours), peer: rounded(peer), peerName, ratio: rounded(ours / peer), goal, met: met(ours, peer) };
}

/** Nearest rank; `of`: 0..1. NaN of nothing. */
export const percentile = (values: readonly number[], of: number): number => values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * of) - 1)] ?? Number.NaN;

/** The lower one of two middle values. NaN of nothing. */
export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** Prints one JSON line per figure: what a benchmark does when it is the program itself. */
export async function printFigures(figures: Promise<readonly Figure[]>): Promise<void> {
  for (const figure of await figures) process.stdout.write(`${JSON.stringify(figure)}\n`);
}
