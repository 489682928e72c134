/** Of a range that several test processes of a machine choose from, each of a run of Jest has a part for itself. */
const parts = 4;

/**
 * A number from `first` to before `end`, at random within this process's part of the range: of two workers of one run of Jest no two meet. Another run on the same machine
 * may: whoever can looks whether it is taken.
 */
export function ownNumber(first: number, end: number): number {
  const size = Math.floor((end - first) / parts);
  const part = Number(process.env['JEST_WORKER_ID'] ?? 1) % parts;
  return first + part * size + Math.floor(Math.random() * size);
}
