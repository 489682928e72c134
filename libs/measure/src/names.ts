/** node-2 before node-10. */
export function compareNames(a: string, b: string): number {
  return collator.compare(a, b);
}

/** Made once: localeCompare makes one per call. */
const collator = new Intl.Collator('en', { numeric: true });
