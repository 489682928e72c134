/** One benchmark figure: ours against a peer measured in the same run, or against a bound. */
export interface Figure {
  name: string;
  unit: string;
  ours: number;
  peer: number;
  peerName: string;
  /** ours / peer. */
  ratio: number;
  /** What is wanted of the ratio, or of ours, in words. */
  goal: string;
  met: boolean;
  /** All rows that counted, ours and the peer's. */
  rows: { ours: number[]; peer: number[] };
}

export function figure(name: string, unit: string, ours: number[], peerName: string, peer: number[], least: number): Figure {
  const mine = median(ours);
  const theirs = median(peer);
  const ratio = mine / theirs;
  return { name, unit, ours: round(mine), peer: round(theirs), peerName, ratio: round(ratio), goal: `ratio >= ${least}`, met: ratio >= least, rows: { ours: ours.map(round), peer: peer.map(round) } };
}

/** A figure that must stay under a bound. */
export function bounded(name: string, unit: string, ours: number[], boundName: string, bound: number): Figure {
  const mine = median(ours);
  return { name, unit, ours: round(mine), peer: bound, peerName: boundName, ratio: round(mine / bound), goal: `<= ${bound} ${unit}`, met: mine <= bound, rows: { ours: ours.map(round), peer: [] } };
}

export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length === 0 ? Number.NaN : sorted[Math.floor((sorted.length - 1) / 2)]!;
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Prints one JSON line per figure when the file is the program itself. */
export async function main(run: () => Promise<Figure[]>): Promise<void> {
  for (const one of await run()) console.log(JSON.stringify(one));
}
