import type { RoundFinding } from '@roundsman/api';
import { compareNames } from '../names.ts';
import { failing, impairment } from './cause.ts';
import { draftOf, type Draft, type Family, type Words } from './draft.ts';
import { combine, deadAmong, type Health, type Observation } from './observation.ts';

/** What the mesh of one family says, and which nodes and paths it says it about: other layers need not say it again. */
export interface MeshVerdict {
  drafts: Draft[];
  /** Nothing reaches anything. */
  whole?: Draft;
  /** Nodes whose own probes fail because of themselves. */
  badSources: Map<string, Draft>;
  /** Nodes that others cannot reach. */
  badDestinations: Map<string, Draft>;
  /** Does nothing at all come through from one node to another (or to itself)? */
  isPairDown: (from: string, to: string) => boolean;
  /** Per probing node: what it saw of all endpoints. */
  endpoints: Map<string, Health>;
}

/** Pairs named one by one; beyond, one finding counts the rest. */
const maxPairs = 20;

/**
 * Infers from a node x node matrix of one family what is broken: a whole column is the destination, a whole row the source, a single cell
 * the path. `on` tells interfaces apart: ` on interface net1`, empty for the pods' own addresses.
 */
export function judgeMesh(observations: readonly Observation[], on: string): MeshVerdict {
  const family = observations[0]?.result.family;
  const lone = loneEndpoints(observations);
  const grid = new Grid(observations.filter((o) => !lone.has(o.result.target)));
  const verdict: MeshVerdict = {
    drafts: [], badSources: new Map(), badDestinations: new Map(), endpoints: new Map([...Map.groupBy(observations, (o) => o.from)].map(([node, all]) => [node, combine(all)])),
    isPairDown: (from, to) => grid.cell(from, to)?.health === 'down',
  };
  const add = (finding: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>): Draft => {
    const draft = draftOf({ ...finding, layer: 'endpoint', family });
    verdict.drafts.push(draft);
    return draft;
  };
  const remote = grid.cells.filter((c) => c.from !== c.to);

  if (remote.length > 1 && remote.every((c) => c.health === 'down')) {
    const selves = grid.cells.filter((c) => c.from === c.to);
    const local = selves.length > 0 && selves.every((c) => c.health === 'down') ? 'not even from the node itself' : 'each node reaches only itself';
    verdict.whole = add({ code: 'all-down', severity: 'critical', subject: 'mesh', say: ({ over, why }) => `No node reaches any other${on}${over} (${local})${why}.`, seen: observations });
    for (const node of grid.nodes) {
      verdict.badSources.set(node, verdict.whole);
      verdict.badDestinations.set(node, verdict.whole);
    }
    return verdict;
  }
  for (const [target, all] of lone) {
    const node = all[0]!.result.targetNode!;
    add({
      code: 'target-down', severity: 'critical', subject: `target ${target.replace(`/${family ?? ''}`, '')}`, seen: all,
      say: ({ over, why, at }) => `The endpoint ${at} on node ${node} answers nobody${on}${over}, others on the same node do${why}.`,
    });
  }

  const columns = new Set(grid.destinations.filter((node) => grid.column(node).length > 0 && combineCells(grid.column(node)) === 'down'));
  const rows = new Set(grid.sources.filter((node) => grid.row(node).length > 0 && combineCells(grid.row(node)) === 'down'));

  // Neither reaches nor is reached: cut off. Otherwise a column counts only with witnesses that reach others, a row only
  // with destinations that others reach.
  for (const node of [...columns].filter((n) => rows.has(n))) {
    if (grid.row(node).length + grid.column(node).length < 3) continue;
    const seen = [...grid.row(node), ...grid.column(node)].flatMap((c) => c.all);
    const draft = add({ code: 'node-isolated', severity: 'critical', subject: `node ${node}`, say: ({ over, why }) => `Node ${node} is cut off${on}${over}: it reaches no other node and none reaches it${why}.`, seen });
    verdict.badSources.set(node, draft);
    verdict.badDestinations.set(node, draft);
  }
  for (const node of columns) {
    if (verdict.badDestinations.has(node)) continue;
    const witnesses = grid.column(node).filter((c) => !rows.has(c.from));
    const self = grid.cell(node, node);
    if (witnesses.length < 2 && self?.health !== 'down') continue;
    const inside = self?.health === 'good' ? ' It answers on the node itself, so the way to it is broken.' : self?.health === 'down' ? ' It does not answer on the node itself either, so the echo target is broken.' : '';
    verdict.badDestinations.set(node, add({
      code: 'node-unreachable', severity: 'critical', subject: `node ${node}`, seen: [...grid.column(node).flatMap((c) => c.all), ...(self?.all ?? [])],
      say: ({ over, why, cause }) =>
        cause?.answers === true
          ? `The echo target of node ${node} ${failing(cause)}${on}${over}, whichever node asks${why}.`
          : `Node ${node} is unreachable${on}${over} or its echo target does not answer: every node fails to reach it${why}.${inside}`,
    }));
  }
  for (const node of rows) {
    if (verdict.badSources.has(node)) continue;
    const proof = grid.row(node).filter((c) => !verdict.badDestinations.has(c.to));
    if (proof.length < 2) continue;
    verdict.badSources.set(node, add({
      code: 'node-no-egress', severity: 'critical', subject: `node ${node}`, seen: grid.row(node).flatMap((c) => c.all),
      say: ({ over, why }) => `Node ${node} cannot reach out${on}${over}: it reaches no other node, though others reach them${why}.`,
    }));
  }

  const open = grid.cells.filter((c) => c.health !== 'good' && (c.from === c.to ? !verdict.badDestinations.has(c.to) : !verdict.badSources.has(c.from) && !verdict.badDestinations.has(c.to)));
  for (const cell of limited(open.filter((c) => c.health === 'down'), 'path-broken', 'critical', add)) {
    const what = ({ over, cause }: Words): string =>
      cell.from === cell.to ? cause?.answers === true ? `On node ${cell.to} its own echo target ${failing(cause)}${on}${over}` : `Node ${cell.to} does not reach its own echo target${on}${over}` : `The path from ${cell.from} to ${cell.to} is broken${on}${over}, while other paths work`;
    add({ code: 'path-broken', severity: 'critical', subject: `path ${cell.from} -> ${cell.to}`, say: (words) => `${what(words)}${words.why}.`, seen: cell.all });
  }
  judgeImpaired(grid, open.filter((c) => c.health === 'impaired'), on, add);
  return verdict;
}

type Add = (finding: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>) => unknown;

/** Of several endpoints on one node, those that answer nobody while another of them does: theirs is no matter of nodes. */
const loneEndpoints = (observations: readonly Observation[]): Map<string, Observation[]> =>
  new Map([...Map.groupBy(observations, (o) => o.result.targetNode).values()].flatMap((onNode) => [...deadAmong(onNode)]));

function judgeImpaired(grid: Grid, impaired: Cell[], on: string, add: Add): void {
  const explained = new Set<Cell>();
  const candidates = new Set(impaired);
  const whole = (node: string, cells: Cell[], direction: string): void => {
    const bad = cells.filter((c) => candidates.has(c) && !explained.has(c));
    if (bad.length < 2 || bad.length < cells.length) return;
    for (const cell of bad) explained.add(cell);
    const all = bad.flatMap((c) => c.all);
    add({ code: 'node-degraded', severity: 'warning', subject: `node ${node}`, say: ({ over }) => `Everything ${direction} node ${node} is degraded${on}${over}: ${impairment(all).text}.`, seen: all });
  };
  for (const node of grid.destinations) whole(node, grid.column(node), 'to');
  for (const node of grid.sources) whole(node, grid.row(node), 'from');
  for (const cell of limited(impaired.filter((c) => !explained.has(c)), 'path-degraded', 'warning', add)) {
    const { code, text } = impairment(cell.all);
    add({ code: code ?? 'path-degraded', severity: 'warning', subject: `path ${cell.from} -> ${cell.to}`, say: ({ over }) => `The path from ${cell.from} to ${cell.to} is degraded${on}${over}: ${text}.`, seen: cell.all });
  }
}

/** Hands out so many to be named one by one, and then counts the rest. */
export function* limited<T extends { all: Observation[] }>(cells: readonly T[], code: 'path-broken' | 'path-degraded', severity: RoundFinding['severity'], add: Add): Generator<T> {
  yield* cells.slice(0, maxPairs);
  const rest = cells.slice(maxPairs);
  if (rest.length > 0) add({ code, severity, subject: `${rest.length} more paths`, say: ({ over }) => `${rest.length} more paths${over} have the same trouble.`, seen: rest.flatMap((c) => c.all) });
}

/** The verdict of a family in which nothing comes through while another one works. */
export function deadFamily(observations: readonly Observation[], family: Family): MeshVerdict {
  const draft = draftOf({
    code: 'family-down', severity: 'critical', subject: `IP${family ?? ''}`, layer: 'endpoint', family, seen: observations,
    say: ({ why }) => `IP${family ?? ''} does not work between any nodes${why}.`,
  });
  const nodes = new Set(observations.flatMap((o) => [o.from, o.result.targetNode!]));
  const all = new Map([...nodes].map((node) => [node, draft]));
  return { drafts: [draft], whole: draft, badSources: all, badDestinations: all, isPairDown: () => true, endpoints: new Map([...nodes].map((node) => [node, 'down'])) };
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
