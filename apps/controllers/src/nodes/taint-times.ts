import type { Node, Taint } from '@roundsman/api';

const hasTime = ({ timeAdded }: Taint): boolean => !Number.isNaN(Date.parse(timeAdded ?? ''));

/** Since when nodes expel pods: taints that people set carry no time; they count from when they were first seen here. */
export class TaintTimes {
  readonly #seen = new Map<string, Map<string, string>>();

  /** The NoExecute taints of a node, each with its time. */
  of(node: Node | undefined, nowMs: number): readonly Taint[] {
    if (node === undefined) return [];
    const { uid } = node.metadata;
    const taints = (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
    const before = this.#seen.get(uid);
    const seen = new Map<string, string>();
    const dated = taints.map((taint): Taint => {
      if (hasTime(taint)) return taint;
      const name = `${taint.key}=${taint.value ?? ''}`;
      const timeAdded = before?.get(name) ?? new Date(nowMs).toISOString();
      seen.set(name, timeAdded);
      return { ...taint, timeAdded };
    });
    if (seen.size === 0) this.#seen.delete(uid);
    else this.#seen.set(uid, seen);
    return dated;
  }

  forget({ metadata }: Node): void {
    this.#seen.delete(metadata.uid);
  }
}
