import type { RoundFinding } from '@roundsman/api';
import { compareNames } from '../names.ts';
import { causeOf, impairment } from './cause.ts';
import { combine, evidenceOf, type Health, type Observation } from './observation.ts';

/** What the mesh says, and which nodes it says it about: other layers need not say it again. */
export interface MeshVerdict {
  findings: RoundFinding[];
  /** Nodes whose own probes fail because of themselves. */
  badSources: Set<string>;
  /** Nodes that others cannot reach. */
  badDestinations: Set<string>;
}

/** Pairs named one by one; beyond, one finding counts the rest. */
const maxPairs = 20;

/**
 * Infers from a node x node matrix what is broken: a whole column is the destination, a whole row the source, a single cell
 * the path. `label` tells families apart where there are several ("over IPv6").
 */
export function judgeMesh(observations: readonly Observation[], label: string): MeshVerdict {
  const grid = new Grid(observations);
  const verdict: MeshVerdict = { findings: [], badSources: new Set(), badDestinations: new Set() };
  const add = (finding: RoundFinding): void => void verdict.findings.push(finding);
  const remote = grid.cells.filter((c) => c.from !== c.to);
  const over = label === '' ? '' : ` ${label}`;

  if (remote.length > 1 && remote.every((c) => c.health === 'down')) {
    const selves = grid.cells.filter((c) => c.from === c.to);
    const local = selves.length > 0 && selves.every((c) => c.health === 'down') ? 'not even from the node itself' : 'each node reaches only itself';
    add({ code: 'all-down', severity: 'critical', subject: `mesh${over}`, message: `No node reaches any other${over} (${local})${because(remote.flatMap((c) => c.all))}.`, evidence: evidenceOf(observations) });
    for (const node of grid.nodes) {
      verdict.badSources.add(node);
      verdict.badDestinations.add(node);
    }
    return verdict;
  }

  const columns = new Set(grid.destinations.filter((node) => grid.column(node).length > 0 && combineCells(grid.column(node)) === 'down'));
  const rows = new Set(grid.sources.filter((node) => grid.row(node).length > 0 && combineCells(grid.row(node)) === 'down'));

  // Neither reaches nor is reached: cut off. Otherwise a column counts only with witnesses that reach others, a row only
  // with destinations that others reach.
  for (const node of [...columns].filter((n) => rows.has(n))) {
    if (grid.row(node).length + grid.column(node).length < 3) continue;
    verdict.badSources.add(node);
    verdict.badDestinations.add(node);
    const cells = [...grid.row(node), ...grid.column(node)].flatMap((c) => c.all);
    add({ code: 'node-isolated', severity: 'critical', subject: `node ${node}`, message: `Node ${node} is cut off${over}: it reaches no other node and none reaches it${because(cells)}.`, evidence: evidenceOf(cells) });
  }
  for (const node of columns) {
    if (verdict.badDestinations.has(node)) continue;
    const witnesses = grid.column(node).filter((c) => !rows.has(c.from));
    const self = grid.cell(node, node);
    if (witnesses.length < 2 && self?.health !== 'down') continue;
    verdict.badDestinations.add(node);
    const cells = grid.column(node).flatMap((c) => c.all);
    const inside = self?.health === 'good' ? ' It answers on the node itself, so the way to it is broken.' : self?.health === 'down' ? ' It does not answer on the node itself either, so the echo target is broken.' : '';
    add({ code: 'node-unreachable', severity: 'critical', subject: `node ${node}`, message: `Node ${node} is unreachable${over} or its echo target does not answer: every node fails to reach it${because(cells)}.${inside}`, evidence: evidenceOf([...cells, ...(self?.all ?? [])]) });
  }
  for (const node of rows) {
    if (verdict.badSources.has(node)) continue;
    const proof = grid.row(node).filter((c) => !verdict.badDestinations.has(c.to));
    if (proof.length < 2) continue;
    verdict.badSources.add(node);
    const cells = grid.row(node).flatMap((c) => c.all);
    add({ code: 'node-no-egress', severity: 'critical', subject: `node ${node}`, message: `Node ${node} cannot reach out${over}: it reaches no other node, though others reach them${because(cells)}.`, evidence: evidenceOf(cells) });
  }

  const open = grid.cells.filter((c) => c.health !== 'good' && (c.from === c.to ? !verdict.badDestinations.has(c.to) : !verdict.badSources.has(c.from) && !verdict.badDestinations.has(c.to)));
  for (const cell of limited(open.filter((c) => c.health === 'down'), 'path-broken', 'critical', add)) {
    const what = cell.from === cell.to ? `Node ${cell.to} does not reach its own echo target${over}` : `The path from ${cell.from} to ${cell.to} is broken${over}, while other paths work`;
    add({ code: 'path-broken', severity: 'critical', subject: `path ${cell.from} -> ${cell.to}`, message: `${what}${because(cell.all)}.`, evidence: evidenceOf(cell.all) });
  }
  judgeImpaired(grid, open.filter((c) => c.health === 'impaired'), over, add);
  return verdict;
}

function judgeImpaired(grid: Grid, impaired: Cell[], over: string, add: (finding: RoundFinding) => void): void {
  const explained = new Set<Cell>();
  const candidates = new Set(impaired);
  const whole = (node: string, cells: Cell[], direction: string): void => {
    const bad = cells.filter((c) => candidates.has(c) && !explained.has(c));
    if (bad.length < 2 || bad.length < cells.length) return;
    for (const cell of bad) explained.add(cell);
    const all = bad.flatMap((c) => c.all);
    add({ code: 'node-degraded', severity: 'warning', subject: `node ${node}`, message: `Everything ${direction} node ${node} is degraded${over}: ${impairment(all).text}.`, evidence: evidenceOf(all) });
  };
  for (const node of grid.destinations) whole(node, grid.column(node), 'to');
  for (const node of grid.sources) whole(node, grid.row(node), 'from');
  for (const cell of limited(impaired.filter((c) => !explained.has(c)), 'path-degraded', 'warning', add)) {
    const { code, text } = impairment(cell.all);
    add({ code: code ?? 'path-degraded', severity: 'warning', subject: `path ${cell.from} -> ${cell.to}`, message: `The path from ${cell.from} to ${cell.to} is degraded${over}: ${text}.`, evidence: evidenceOf(cell.all) });
  }
}

function limited(cells: Cell[], code: 'path-broken' | 'path-degraded', severity: RoundFinding['severity'], add: (finding: RoundFinding) => void): Cell[] {
  if (cells.length <= maxPairs) return cells;
  const rest = cells.slice(maxPairs);
  add({ code, severity, subject: `${rest.length} more paths`, message: `${rest.length} more paths between nodes have the same trouble.`, evidence: evidenceOf(rest.flatMap((c) => c.all)) });
  return cells.slice(0, maxPairs);
}

function because(all: readonly Observation[]): string {
  const cause = causeOf(all.filter((o) => o.health !== 'good'));
  return cause === undefined ? '' : `; ${cause.text}`;
}

interface Cell {
  from: string;
  to: string;
  all: Observation[];
  health: Health;
}

function combineCells(cells: readonly Cell[]): Health {
  return combine(cells.flatMap((c) => c.all));
}

/** The matrix; rows and columns are without the diagonal. */
class Grid {
  readonly cells: Cell[];
  readonly sources: string[];
  readonly destinations: string[];
  readonly nodes: Set<string>;
  readonly #byPair = new Map<string, Cell>();
  readonly #rows: Map<string, Cell[]>;
  readonly #columns: Map<string, Cell[]>;

  constructor(observations: readonly Observation[]) {
    for (const observation of observations) {
      const to = observation.result.targetNode!;
      const key = JSON.stringify([observation.from, to]);
      let cell = this.#byPair.get(key);
      if (cell === undefined) this.#byPair.set(key, (cell = { from: observation.from, to, all: [], health: 'good' }));
      cell.all.push(observation);
    }
    const unsorted = [...this.#byPair.values()];
    this.sources = [...new Set(unsorted.map((c) => c.from))].sort(compareNames);
    this.destinations = [...new Set(unsorted.map((c) => c.to))].sort(compareNames);
    this.nodes = new Set([...this.sources, ...this.destinations]);
    const rank = new Map([...this.nodes].sort(compareNames).map((node, i) => [node, i]));
    this.cells = unsorted.sort((a, b) => rank.get(a.from)! - rank.get(b.from)! || rank.get(a.to)! - rank.get(b.to)!);
    for (const cell of this.cells) cell.health = combine(cell.all);
    const remote = this.cells.filter((c) => c.from !== c.to);
    this.#rows = Map.groupBy(remote, (c) => c.from);
    this.#columns = Map.groupBy(remote, (c) => c.to);
  }

  cell(from: string, to: string): Cell | undefined {
    return this.#byPair.get(JSON.stringify([from, to]));
  }

  row(from: string): Cell[] {
    return this.#rows.get(from) ?? [];
  }

  column(to: string): Cell[] {
    return this.#columns.get(to) ?? [];
  }
}
