import { ApiError, badRequest } from '@roundsman/api';
import jsonpatch, { type Operation } from 'fast-json-patch';
import { z } from 'zod';
import { isObject, type Json, type JsonObject } from './lists.ts';

const maxOperations = 1000;
const pointer = z.string().regex(/^(\/([^~]|~[01])*)?$/, 'must be a JSON pointer such as /spec/suspend');
const operationsSchema = z
  .array(
    z.discriminatedUnion('op', [
      z.object({ op: z.enum(['add', 'replace', 'test']), path: pointer, value: z.unknown() }),
      z.object({ op: z.literal('remove'), path: pointer }),
      z.object({ op: z.enum(['move', 'copy']), path: pointer, from: pointer }),
    ]),
  )
  .max(maxOperations);

/** RFC 6902, all or nothing. A patch that is no patch is 400; one that does not fit the object (a failed test included) is 422. */
export function jsonPatch(target: JsonObject, patch: unknown): JsonObject {
  const parsed = operationsSchema.safeParse(patch);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const at = issue && issue.path.length > 0 ? ` at ${issue.path.map((step, i) => (typeof step === 'number' ? `[${step}]` : `${i === 0 ? '' : '.'}${String(step)}`)).join('')}` : '';
    throw badRequest(`not a JSON patch (RFC 6902)${at}: ${issue?.message ?? 'unknown'}`);
  }
  let result: Json;
  try {
    result = jsonpatch.applyPatch(target as object, parsed.data as Operation[], true, false).newDocument as Json;
  } catch (error) {
    const { name, message, index } = error as Error & { index?: number };
    const first = message.split('\n')[0] as string;
    throw new ApiError('Invalid', `the patch does not fit the object: ${index === undefined ? '' : `operation ${index}: `}${name === 'TEST_OPERATION_FAILED' ? 'the test does not hold' : first}`);
  }
  if (!isObject(result)) throw new ApiError('Invalid', 'the patch does not fit the object: what it leaves is not an object');
  return result;
}
