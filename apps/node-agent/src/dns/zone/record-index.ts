import type { ResourceRecord } from '../wire/record.ts';

/** Records by name, each put in by a source (a Service, an object with a host) that replaces all of its own at once. */
export class RecordIndex {
  readonly #sources = new Map<string, readonly ResourceRecord[]>();
  readonly #names = new Map<string, ResourceRecord[]>();
  /** How many records lie at a name or below it: a name without records exists when there are some below. */
  readonly #existing = new Map<string, number>();

  set(source: string, records: readonly ResourceRecord[]): void {
    this.delete(source);
    if (records.length === 0) return;
    this.#sources.set(source, records);
    for (const record of records) {
      const there = this.#names.get(record.name);
      if (there === undefined) this.#names.set(record.name, [record]);
      else there.push(record);
      for (const name of upwards(record.name)) this.#existing.set(name, (this.#existing.get(name) ?? 0) + 1);
    }
  }

  delete(source: string): void {
    const gone = new Set(this.#sources.get(source));
    for (const name of new Set(Array.from(gone, (record) => record.name))) {
      const left = (this.#names.get(name) ?? []).filter((record) => !gone.has(record));
      if (left.length === 0) this.#names.delete(name);
      else this.#names.set(name, left);
    }
    for (const record of gone) {
      for (const name of upwards(record.name)) {
        const count = (this.#existing.get(name) ?? 0) - 1;
        if (count > 0) this.#existing.set(name, count);
        else this.#existing.delete(name);
      }
    }
    this.#sources.delete(source);
  }

  clear(): void {
    for (const source of this.#sources.keys()) this.delete(source);
  }

  /** Of a name itself; never change them. */
  at(name: string): readonly ResourceRecord[] | undefined {
    return this.#names.get(name);
  }

  /** Whether there is the name, be it that it only has others below it. */
  exists(name: string): boolean {
    return this.#existing.has(name);
  }
}

/** The name and all that it lies in. */
function* upwards(name: string): Generator<string> {
  for (let rest = name; ; ) {
    yield rest;
    const dot = rest.indexOf('.');
    if (dot < 0) return;
    rest = rest.slice(dot + 1);
  }
}

/** Each record once: what two slices both say is said once. */
export function distinct(records: readonly ResourceRecord[]): ResourceRecord[] {
  const seen = new Map(records.map((record) => [`${record.name} ${record.type} ${record.data.toString('latin1')}`, record]));
  return [...seen.values()];
}
