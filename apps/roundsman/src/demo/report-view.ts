import { latencyText, type LatencySummary, type MatrixReport, type ReportBody, type TargetReport } from '@roundsman/api';
import Table from 'cli-table3';
import type { Paint } from './paint.ts';
import { axisFor, box, ruler } from './plot.ts';

const percent = (rate: number): string => `${Math.floor(rate * 10_000) / 100} %`;
const latency = (us: number | undefined): string => latencyText(us) ?? '-';
/** Compact: no inner lines, no colours of the library's own. */
const style = { style: { head: [], border: [], compact: true } };

/** A report as a page for a terminal `columns` wide. */
export function reportPage(report: ReportBody, paint: Paint, columns: number): string {
  const { kind, task, round, state, verdict, totals } = report;
  // What a starved or silent prober found is not to look like health.
  const mark = state !== 'succeed' ? paint.bad(`✘ ${state}`) : verdict.state === 'healthy' ? paint.good('✔ succeed') : paint.warn(`? ${state}`);
  const tone = verdict.state === 'healthy' ? paint.good : verdict.state === 'broken' || verdict.state === 'degraded' ? paint.bad : paint.warn;
  const lines = [
    `${paint.bold(`${kind} ${task}`)}, round ${round}: ${mark}, verdict ${tone(verdict.state)}`,
    `  ${verdict.summary}`,
    `  ${totals.succeeded} of ${totals.planned} requests succeeded (${percent(report.successRate)}), ${totals.runners.ok + totals.runners.failed} of ${totals.runners.expected} runners reported${codes(report)}`,
    // The summary has told the first one.
    ...verdict.findings.slice(1).map(({ severity, code, message }) => `  ${severity === 'info' ? paint.dim('·') : paint.warn('!')} ${code}: ${message}`),
    ...report.missing.map(({ runner, node, reason }) => `  ${paint.bad('missing')} ${runner}${node === '' ? '' : ` on ${node}`}: ${reason}`),
  ];
  if (report.matrix) lines.push('', paint.dim('  from node (row) to node (column): successful share, median'), indent(matrixTable(report.matrix, paint)));
  const targets = report.perTarget ?? [];
  if (targets.length > 0) lines.push('', indent(targetTable(targets, paint)));
  const measured = targets.flatMap(({ latency: measuredLatency, ...rest }) => (measuredLatency ? [{ ...rest, latency: measuredLatency }] : []));
  if (measured.length > 0) lines.push('', ...plotLines(measured, columns, paint));
  return `${lines.join('\n')}\n`;
}

function codes({ statusCodes, replyCodes }: ReportBody): string {
  const all = Object.entries({ ...statusCodes, ...replyCodes });
  return all.length === 0 ? '' : `; answers ${all.map(([code, count]) => `${code} × ${count}`).join(', ')}`;
}

/** Node by node; `x` where nothing succeeded. */
export function matrixTable({ from, to, cells }: MatrixReport, paint: Paint): string {
  const table = new Table({ head: ['', ...to], ...style });
  for (const row of from) {
    const marks = to.map((column) => {
      const cell = cells.find((one) => one.from === row && one.to === column);
      if (!cell) return '-';
      const text = `${percent(cell.successRate)} ${latency(cell.p50Us)}`;
      return cell.okTargets === cell.targets ? paint.good(text) : paint.bad(cell.succeeded === 0 ? 'x' : text);
    });
    table.push([row, ...marks]);
  }
  return table.toString();
}

function targetTable(targets: readonly TargetReport[], paint: Paint): string {
  const table = new Table({ head: ['from', 'target', 'requests', 'success', 'p50', 'p90', 'p99', 'max', 'errors'], ...style });
  for (const { node, target, planned, successRate, latency: measured, errors, ok } of targets) {
    const failed = Object.entries(errors ?? {}).map(([code, count]) => `${code} × ${count}`);
    const rate = ok ? paint.good(percent(successRate)) : paint.bad(percent(successRate));
    table.push([node, shortened(target, 44), planned, rate, latency(measured?.p50Us), latency(measured?.p90Us), latency(measured?.p99Us), latency(measured?.maxUs), failed.join(', ')]);
  }
  return table.toString();
}

function plotLines(targets: readonly (TargetReport & { latency: LatencySummary })[], columns: number, paint: Paint): string[] {
  const names = targets.map(({ node, target, layer, interface: name, targetNode }) => shortened(`${node} → ${layer === 'endpoint' && name === undefined ? (targetNode ?? target) : target}`, 40));
  const width = Math.max(...names.map((name) => name.length));
  const axis = axisFor(targets.map(({ latency: measured }) => measured), Math.max(20, Math.min(60, columns - width - 6)));
  return [
    paint.dim('  latency: ├ least  █ median  ▒ to p90  ░ to p99  ┤ greatest'),
    ...targets.map(({ latency: measured }, index) => `  ${names[index]!.padEnd(width)}  ${box(measured, axis)}`),
    `  ${' '.repeat(width)}  ${paint.dim(ruler(axis))}`,
  ];
}

const shortened = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
const indent = (text: string): string => text.split('\n').map((line) => `  ${line}`).join('\n');
