import type { z } from 'zod';

/** A payload that its catalogue schema refuses. Wrong data or a version skew, never a reason to retry. */
export class InvalidPayload extends Error {
  override readonly name = 'InvalidPayload';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
const lenient = new TextDecoder();
const encoder = new TextEncoder();

/** At most five problems, `path: message`, on one line. */
function explain(error: z.ZodError): string {
  const shown = error.issues.slice(0, 5).map((issue) => `${issue.path.join('.') || 'payload'}: ${issue.message}`);
  return shown.join('; ') + (error.issues.length > 5 ? `; and ${error.issues.length - 5} more` : '');
}

export const encodeJson = (payload: unknown): Uint8Array => encoder.encode(JSON.stringify(payload));

/** Checks an outgoing payload; it is sent as given, so what a schema would default is defaulted by the receiver. */
export function check(schema: z.ZodType, payload: unknown, subject: string): void {
  const result = schema.safeParse(payload);
  if (!result.success) throw new InvalidPayload(`payload for ${subject} refused: ${explain(result.error)}`);
}

/** An incoming payload, validated; unknown fields are dropped (or kept where the schema is loose). No body is `{}`. */
export function decodeJson<T>(schema: z.ZodType<T>, data: Uint8Array, subject: string): T {
  let value: unknown = {};
  if (data.length > 0) {
    try {
      value = JSON.parse(utf8.decode(data));
    } catch (error) {
      throw new InvalidPayload(`payload on ${subject} is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const result = schema.safeParse(value);
  if (!result.success) throw new InvalidPayload(`payload on ${subject} refused: ${explain(result.error)}`);
  return result.data;
}

/** Whatever arrived, as text for people: invalid UTF-8 shows as U+FFFD, and more than `limit` characters are cut with a note. */
export function readable(data: Uint8Array, limit: number): string {
  if (data.length <= limit) return lenient.decode(data);
  return `${lenient.decode(data.subarray(0, limit))}... (${data.length} bytes in all)`;
}
