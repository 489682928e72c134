import { ApiError, badRequest } from '@roundsman/api';
import { mediaType } from '../http/body.ts';
import { jsonPatch } from '../patch/json.ts';
import { isObject, type Json, type JsonObject } from '../patch/lists.ts';
import { mergePatch } from '../patch/merge.ts';
import { strategicMergePatch } from '../patch/strategic.ts';

export const applyPatchType = 'application/apply-patch+yaml';

/** Kinds of Kubernetes itself: their lists have merge keys. */
export const isBuiltIn = (group: string): boolean => group === '' || !group.includes('.') || group.endsWith('.k8s.io');

/** What a patch makes out of the live object. Throws a 415 for a kind of patch that is not for objects of this group. */
export function patchOf(contentType: string | undefined, body: unknown, group: string, also: readonly string[] = []): (live: JsonObject) => JsonObject {
  const type = mediaType(contentType);
  if (type === 'application/json-patch+json') return (live) => jsonPatch(live, body);
  if (!isObject(body)) throw badRequest('a merge patch must be an object');
  if (type === 'application/merge-patch+json') return (live) => mergePatch(live, body as Json) as JsonObject;
  // Kubernetes has no merge keys for custom kinds either, and kubectl falls back to a merge patch.
  if (type === 'application/strategic-merge-patch+json' && isBuiltIn(group)) return (live) => strategicMergePatch(live, body);
  const types = ['application/json-patch+json', 'application/merge-patch+json', ...also, ...(isBuiltIn(group) ? ['application/strategic-merge-patch+json'] : [])];
  throw new ApiError('UnsupportedMediaType', `the body of the request was in an unknown format - accepted media types include: ${types.join(', ')}`);
}
