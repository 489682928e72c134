/** A round of a task, as this runner files it: `<task uid>_<round>` (`_` is in no uid). */
export const keyOf = (round: { readonly taskUid: string; readonly round: number }): string => `${round.taskUid}_${round.round}`;

export function roundOfKey(key: string): { taskUid: string; round: number } {
  const at = key.lastIndexOf('_');
  return { taskUid: key.slice(0, at), round: Number(key.slice(at + 1)) };
}
