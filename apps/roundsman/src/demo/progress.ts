import { latencyText, type LiveSample } from '@roundsman/api';

export interface TaskProgress {
  readonly label: string;
  /** Runners that will report. */
  readonly runners: number;
  readonly samples: Map<string, LiveSample>;
  state: 'waiting' | 'running' | 'done' | 'failed';
}

/** `NetReach mesh    ██████░░░░  60 %  810 of 1350 sent, 2 failed, p50 0.4ms`. */
export function progressLine({ label, runners, samples, state }: TaskProgress, width: number): string {
  const all = [...samples.values()];
  const sum = (pick: (sample: LiveSample) => number): number => all.reduce((total, sample) => total + pick(sample), 0);
  const share = state === 'done' || state === 'failed' ? 1 : sum(({ progress }) => progress) / Math.max(runners, all.length, 1);
  const filled = Math.round(share * 20);
  const bar = '█'.repeat(filled) + '░'.repeat(20 - filled);
  const medians = all.flatMap(({ p50Us }) => (p50Us === undefined ? [] : [p50Us])).sort((a, b) => a - b);
  const median = medians[Math.floor(medians.length / 2)];
  const words = all.length === 0 ? 'waiting for its runners' : `${sum(({ sent }) => sent)} of ${sum(({ planned }) => planned)} sent, ${sum(({ failed }) => failed)} failed${median === undefined ? '' : `, p50 ${latencyText(median)}`}`;
  return `  ${label.padEnd(width)}  ${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${words}`;
}

/** One region that is drawn over again on a terminal; plain lines, at most one a second for each task, elsewhere. */
export class ProgressView {
  readonly #stream: NodeJS.WriteStream;
  readonly #tasks: readonly TaskProgress[];
  readonly #live: boolean;
  readonly #last = new Map<TaskProgress, { line: string; at: number }>();
  #drawn = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WriteStream, tasks: readonly TaskProgress[]) {
    this.#stream = stream;
    this.#tasks = tasks;
    this.#live = stream.isTTY === true && process.env['TERM'] !== 'dumb';
  }

  start(): void {
    this.#draw();
    this.#timer = setInterval(() => this.#draw(), this.#live ? 100 : 250);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#draw(true);
  }

  #draw(last = false): void {
    const width = Math.max(...this.#tasks.map(({ label }) => label.length));
    const lines = this.#tasks.map((task) => progressLine(task, width));
    if (this.#live) {
      const columns = this.#stream.columns || 100;
      const up = this.#drawn > 0 ? `\u001b[${this.#drawn}A` : '';
      this.#stream.write(up + lines.map((line) => `\u001b[2K${line.slice(0, columns - 1)}\n`).join(''));
      this.#drawn = lines.length;
      return;
    }
    for (const [index, task] of this.#tasks.entries()) {
      const before = this.#last.get(task);
      const line = lines[index]!;
      if (before?.line === line || (!last && before !== undefined && Date.now() - before.at < 1_000)) continue;
      this.#last.set(task, { line, at: Date.now() });
      this.#stream.write(`${line}\n`);
    }
  }
}
