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

  /** `freshMs`: an answer serves all who ask within so long, and so does silence. */
  constructor(bus: Bus, { freshMs = 0 }: { readonly freshMs?: number } = {}) {
    this.#bus = bus;
    this.#freshMs = freshMs;
  }

  /** By node, all asked at once; without those that gave no answer. */
  async of(nodes: Iterable<string>): Promise<Map<string, Stats>> {
    const names = [...new Set(nodes)];
    const now = performance.now();
    for (const [name, { askedMs }] of this.#known) if (now - askedMs >= this.#freshMs) this.#known.delete(name);
    const answers = await Promise.all(names.map((name) => this.#ask(name)));
    return new Map(answers.flatMap((stats, index) => (stats === undefined ? [] : [[names[index] as string, stats] as const])));
  }

  #ask(node: string): Promise<Stats | undefined> {
    const known = this.#known.get(node);
    if (known !== undefined) return known.answer;
    // A node that is away says so elsewhere.
    const answer = this.#bus.request(messages.nodeStats, { node }, {}, { timeoutMs }).catch(() => undefined);
    this.#known.set(node, { askedMs: performance.now(), answer });
    return answer;
  }
}
