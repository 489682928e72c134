import type { Materials } from './materials.ts';

/** Containers of a pod that start together ask once. */
const freshMs = 2_000;

/** The ConfigMaps and Secrets of one pod, asked for anew when they are older than wanted. */
export class MaterialsCache {
  readonly #fetch: () => Promise<Materials>;
  #kept: { readonly at: number; readonly materials: Promise<Materials> } | undefined;

  constructor(fetch: () => Promise<Materials>) {
    this.#fetch = fetch;
  }

  get(maxAgeMs = freshMs): Promise<Materials> {
    const now = Date.now();
    if (this.#kept !== undefined && now - this.#kept.at < maxAgeMs) return this.#kept.materials;
    const materials = this.#fetch();
    const kept = { at: now, materials };
    this.#kept = kept;
    // A failure is for those who asked, not for who asks next.
    const forget = (): void => {
      if (this.#kept === kept) this.#kept = undefined;
    };
    // Secrets need not lie in memory longer than they are used.
    materials.then(() => setTimeout(forget, freshMs).unref(), forget);
    return materials;
  }
}
