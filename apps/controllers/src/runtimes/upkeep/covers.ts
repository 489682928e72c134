const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a server leaves out because it says nothing: empty text, lists and objects, false, zero. */
function saysNothing(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(saysNothing);
  if (isRecord(value)) return Object.values(value).every(saysNothing);
  return value === undefined || value === null || value === '' || value === false || value === 0;
}

/**
 * Whether an object is as it was said, whatever it has besides: what the server filled in, what others added. A list covers another one when each of its
 * members is covered by one of its own.
 */
export function covers(actual: unknown, wanted: unknown): boolean {
  if (actual === undefined || actual === null) return saysNothing(wanted);
  if (isRecord(wanted)) return isRecord(actual) && Object.entries(wanted).every(([key, member]) => covers(actual[key], member));
  if (Array.isArray(wanted)) return Array.isArray(actual) && wanted.every((member) => actual.some((one) => covers(one, member)));
  return actual === wanted;
}
