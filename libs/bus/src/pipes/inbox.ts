import type { PipeItem } from '../pipe.ts';
import { costOf, windowCost } from './credit.ts';

/** Given back to the sender when this much has been taken out, not for every item. */
const grantAt = windowCost / 4;
/** Smaller views are copied: a few bytes must not hold on to the whole chunk that they arrived in. */
const copyBelow = 16 << 10;

/** The receiver's side: what has come in and was not taken yet, never more than was granted. */
export class Inbox implements AsyncIterable<PipeItem> {
  readonly #grant: (cost: number) => void;
  #items: PipeItem[] = [];
  #taken = 0;
  /** Cost of what was granted and has not come yet. */
  #open = windowCost;
  #ungranted = 0;
  #over: { error?: Error } | undefined;
  #waiting: (() => void) | undefined;

  constructor(grant: (cost: number) => void) {
    this.#grant = grant;
  }

  /** False when the sender did not have the credit for it. */
  add(item: PipeItem): boolean {
    const bytes = 'bytes' in item ? item.bytes : undefined;
    const cost = costOf(bytes?.length ?? 0);
    if (cost > this.#open) return false;
    this.#open -= cost;
    this.#items.push(bytes !== undefined && bytes.length < copyBelow ? { channel: item.channel, bytes: Buffer.from(bytes) } : item);
    this.#wake();
    return true;
  }

  /** No more will come. Without `drop` what is there can still be taken. */
  end(options: { error?: Error; drop?: boolean } = {}): void {
    if (options.drop === true) {
      this.#items = [];
      this.#taken = 0;
    }
    this.#over = options.error === undefined ? {} : { error: options.error };
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PipeItem, void, undefined> {
    for (;;) {
      const item = this.#take();
      if (item !== undefined) yield item;
      else if (this.#over?.error) throw this.#over.error;
      else if (this.#over) return;
      else await new Promise<void>((resolve) => (this.#waiting = resolve));
    }
  }

  #take(): PipeItem | undefined {
    const item = this.#items[this.#taken];
    if (item === undefined) return undefined;
    this.#taken += 1;
    // Shifting one by one is slow for many small items.
    if (this.#taken === this.#items.length || this.#taken >= 1024) {
      this.#items = this.#items.slice(this.#taken);
      this.#taken = 0;
    }
    this.#ungranted += costOf('bytes' in item ? item.bytes.length : 0);
    if (this.#ungranted >= grantAt && !this.#over) {
      this.#open += this.#ungranted;
      this.#grant(this.#ungranted);
      this.#ungranted = 0;
    }
    return item;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.();
  }
}
