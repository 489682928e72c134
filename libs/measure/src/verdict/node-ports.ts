import { compareNames } from '../names.ts';
import type { Below } from './below.ts';
import { failing, impairment } from './cause.ts';
import { draftOf, type Draft } from './draft.ts';
import { wholeOf } from './forwarding.ts';
import { limited } from './mesh.ts';
import { combine, type Health, type Observation } from './observation.ts';

interface Cell {
  from: string;
  to: string;
  all: Observation[];
  health: Health;
}

/** The node ports of one family: who reaches whose. A column is that node's forwarding, or the node where its runner is `silent` too; a row or a cell is the way to it. */
export function judgeNodePorts(observations: readonly Observation[], below: Below, silent: ReadonlySet<string>): Draft[] {
  const drafts: Draft[] = [];
  const add = (draft: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>): Draft => {
    const made = draftOf({ layer: 'nodePort', family: below.family, ...draft });
    drafts.push(made);
    return made;
  };
  const cells = cellsOf(below.trusted(observations, 'nodePort'));
  if (cells.length > 0 && cells.every(({ health }) => health === 'down')) {
    const seen = cells.flatMap(({ all }) => all);
    if (below.whole !== undefined) below.whole.above.add('node ports');
    else below.whole = add({ severity: 'critical', subject: 'layer nodePort', seen, ...wholeOf('nodePort', seen, below) });
    return drafts;
  }
  const open = cells.filter((cell) => cell.health === 'good' || !isExplained(cell, below));
  const said = new Set<Cell>();
  const bad = (from: readonly Cell[]): Cell[] => from.filter((cell) => cell.health === 'down' && !said.has(cell));
  const columns = Map.groupBy(open, ({ to }) => to);
  const rows = Map.groupBy(open, ({ from }) => from);
  const nodes = [...new Set([...columns.keys(), ...rows.keys()])].sort(compareNames);
  for (const node of nodes) {
    const column = columns.get(node) ?? [];
    const down = bad(column);
    const remote = down.filter(({ from }) => from !== node);
    const self = column.find(({ from }) => from === node);
    if (down.length < column.length && !(self?.health === 'good' && down.length === column.length - 1)) continue;
    if (remote.length < 2 && !(remote.length === 1 && self?.health === 'down')) continue;
    for (const cell of down) said.add(cell);
    const seen = down.flatMap(({ all }) => all);
    if (silent.has(node)) {
      add({ code: 'node-unreachable', severity: 'critical', subject: `node ${node}`, seen, say: ({ over, why, at }) => `Node ${node} is unreachable${over}, or down: its node port (${at}) answers nobody, and its runner did not report${why}.` });
      continue;
    }
    const although = below.although(down.map(({ from }) => from));
    const inside = self?.health === 'good' ? 'It works on the node itself: look at the firewall and the way to its address.' : 'The forwarding of node ports there (kube-proxy or its like) is broken, or a firewall drops them.';
    add({
      code: 'node-port-forwarding', severity: 'critical', subject: `node ${node}`, seen,
      say: ({ over, why, at, cause }) =>
        cause?.answers === true
          ? `The node port of node ${node} (${at}) ${failing(cause)} from any node${over}${although}, and those of other nodes do${why}.`
          : `The node port of node ${node} (${at}) answers no node${over}${although}, and those of other nodes do${why}. ${inside}`,
    });
  }
  for (const node of nodes) {
    const whole = rows.get(node) ?? [];
    const row = whole.filter(({ to }) => to !== node);
    const down = bad(row);
    if (down.length < 2 || down.length < row.length) continue;
    const own = bad(whole).find(({ to }) => to === node);
    const all = own === undefined ? down : [...down, own];
    for (const cell of all) said.add(cell);
    add({
      code: 'path-broken', severity: 'critical', subject: `path ${node} -> nodePort`, seen: all.flatMap((cell) => cell.all),
      say: ({ over, why }) => `Node ${node} reaches no node port of other nodes${over}, other nodes do${why}. Look at its way to the addresses of nodes.`,
    });
  }
  for (const { from, to, all } of limited(bad(open), 'path-broken', 'critical', add)) {
    const although = below.although([from]);
    add({
      code: 'path-broken', severity: 'critical', subject: `path ${from} -> nodePort ${to}`, seen: all,
      say: ({ over, why, at }) => `Node ${from} does not reach the ${from === to ? 'node port of its own' : `node port of node ${to}`} (${at})${over}${although}; other ways to node ports work${why}.`,
    });
  }
  judgeImpaired(open.filter((cell) => cell.health === 'impaired'), open, add);
  for (const { from, health } of cells) if (health === 'impaired') below.impaired.add(from);
  return drafts;
}

function judgeImpaired(impaired: readonly Cell[], open: readonly Cell[], add: (draft: Pick<Draft, 'code' | 'severity' | 'subject' | 'say' | 'seen'>) => unknown): void {
  const rest = new Set(impaired);
  const one = (cells: readonly Cell[], subject: string, what: (at: string, over: string) => string, whole: 'target-degraded' | 'node-degraded'): void => {
    const all = cells.flatMap((cell) => cell.all);
    const { code, text } = impairment(all);
    add({ code: code ?? whole, severity: 'warning', subject, seen: all, say: ({ over, at }) => `${what(at, over)}: ${text}.` });
    for (const cell of cells) rest.delete(cell);
  };
  if (rest.size > 1 && rest.size === open.length) return one(impaired, 'layer nodePort', (_, over) => `All node ports are degraded${over}`, 'target-degraded');
  for (const [node, column] of Map.groupBy(open, ({ to }) => to)) {
    if (column.length > 1 && column.every((cell) => rest.has(cell))) one(column, `node ${node}`, (at, over) => `The node port of node ${node} (${at}) is degraded from everywhere${over}`, 'node-degraded');
  }
  for (const { from, to, all } of limited([...rest], 'path-degraded', 'warning', add)) {
    const { code, text } = impairment(all);
    add({ code: code ?? 'path-degraded', severity: 'warning', subject: `path ${from} -> nodePort ${to}`, seen: all, say: ({ over, at }) => `The node port of node ${to} (${at}) is degraded from node ${from}${over}: ${text}.` });
  }
}

/** Is what is broken below the reason? Then that is said there. */
function isExplained({ from, to, health }: Cell, below: Below): boolean {
  if (health === 'impaired') return below.impaired.has(from) || below.forwarders.has(to);
  const node = below.mesh?.badDestinations.get(to) ?? below.forwarders.get(to);
  const forwarder = below.forwarders.get(from);
  if (node !== undefined) node.above.add(`the node port of ${to}`);
  else forwarder?.above.add('node ports from there');
  return node !== undefined || forwarder !== undefined || below.mesh?.isPairDown(from, to) === true;
}

function cellsOf(observations: readonly Observation[]): Cell[] {
  const cells = new Map<string, Cell>();
  for (const observation of observations) {
    const { from, result } = observation;
    const to = result.targetNode ?? result.target;
    const key = `${from}\n${to}`;
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, { from, to, all: [observation], health: 'good' });
    else cell.all.push(observation);
  }
  const all = [...cells.values()].sort((a, b) => compareNames(a.from, b.from) || compareNames(a.to, b.to));
  for (const cell of all) cell.health = combine(cell.all);
  return all;
}
