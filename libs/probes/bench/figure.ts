/** One benchmark figure: ours against a peer measured in the same run, or against a bound. */
export interface Figure {
  name: string;
  unit: string;
  /** Medians of the rows that counted; null when other processes starved every row. */
  ours: number | null;
  peer: number | null;
  peerName: string;
  /** ours / peer. */
  ratio: number | null;
  /** What is wanted of the ratio, or of ours, in words. */
  goal: string;
  met: boolean;
  /** All rows that counted, ours and the peer's. */
  rows: { ours: number[]; peer: number[] };
  /** Per second of the generator's own CPU time, medians of all rows: says something on a busy machine, too. */
  perCpuSecond?: { ours: number; peer: number; ratio: number };
}

export interface Rows {
  /** Rates of the rows that counted. */
  fair: number[];
  /** Of all rows: rate divided by the share of the core that the generator got. */
  perCpuSecond: number[];
}

export function figure(name: string, unit: string, ours: Rows, peerName: string, peer: Rows, least: number): Figure {
  const mine = median(ours.fair);
  const theirs = median(peer.fair);
  const ratio = mine / theirs;
  const cpu = { ours: median(ours.perCpuSecond), peer: median(peer.perCpuSecond) };
  return {
    name,
    unit,
    ours: round(mine),
    peer: round(theirs),
    peerName,
    ratio: round(ratio),
    goal: `ratio >= ${least}`,
    met: ratio >= least,
    rows: { ours: ours.fair.map(Math.round), peer: peer.fair.map(Math.round) },
    perCpuSecond: { ours: Math.round(cpu.ours), peer: Math.round(cpu.peer), ratio: Math.round((cpu.ours / cpu.peer) * 1000) / 1000 },
  };
}

/** A figure that must stay under a bound. */
export function bounded(name: string, unit: string, ours: number[], boundName: string, bound: number): Figure {
  const mine = median(ours);
  return { name, unit, ours: round(mine), peer: bound, peerName: boundName, ratio: bound === 0 ? null : round(mine / bound), goal: `<= ${bound} ${unit}`, met: mine <= bound, rows: { ours: ours.map((value) => Math.round(value * 1000) / 1000), peer: [] } };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? Number.NaN : sorted[Math.floor((sorted.length - 1) / 2)]!;
}

function round(value: number): number | null {
  return Number.isFinite(value) ? Math.round(value * 1000) / 1000 : null;
}

/** Prints one JSON line per figure when the file is the program itself. */
export async function main(run: () => Promise<Figure[]>): Promise<void> {
  for (const one of await run()) console.log(JSON.stringify(one));
}
