import { messages, type Bus } from '@roundsman/bus';
import type { z } from 'zod';

/** What a node and the containers of its pods use, as its agent says it: rates over at most half a minute. */
export type Stats = z.infer<typeof messages.nodeStats.reply>;

/** Milliseconds that an agent has to answer; who does not is left out, as in metrics-server. */
const timeoutMs = 2_000;

/** Asks the agents what their nodes and pods use. */
export class NodeStats {
  readonly #bus: Bus;
  readonly #freshMs: number;
  readonly #known = new Map<string, { readonly askedMs: number; readonly answer: Promise<Stats | undefined> }>();

  /** `freshMs`: an answer serves all who ask within so long. */
  constructor(bus: Bus, { freshMs = 0 }: { readonly freshMs?: number } = {}) {
    this.#bus = bus;
    this.#freshMs = freshMs;
  }

  /** By node, all asked at once; without those that gave no answer. */
  async of(nodes: Iterable<string>): Promise<Map<string, Stats>> {
    const names = [...new Set(nodes)];
    const answers = await Promise.all(names.map((name) => this.#ask(name)));
    return new Map(answers.flatMap((stats, index) => (stats === undefined ? [] : [[names[index] as string, stats] as const])));
  }

  #ask(node: string): Promise<Stats | undefined> {
    const now = performance.now();
    for (const [name, { askedMs }] of this.#known) if (now - askedMs > Math.max(this.#freshMs, timeoutMs)) this.#known.delete(name);
    const known = this.#known.get(node);
    if (known !== undefined && known.askedMs + this.#freshMs > now) return known.answer;
    const answer = this.#bus.request(messages.nodeStats, { node }, {}, { timeoutMs }).catch(() => {
      // The node is away, and says so elsewhere: whoever asks next asks anew.
      if (this.#known.get(node)?.answer === answer) this.#known.delete(node);
      return undefined;
    });
    this.#known.set(node, { askedMs: now, answer });
    return answer;
  }
}
