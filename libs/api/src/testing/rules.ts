import { ApiError } from '../errors.ts';
import type { AdmissionContext } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { kindByResource } from '../registry.ts';
import { decode } from '../validation/decode.ts';

/** An object of a resource as somebody sends it. */
export interface Shape {
  readonly resource: string;
  readonly body: Record<string, unknown>;
}

/** With a name, namespace and uid unless it has its own. */
export const object = (resource: string, body: { metadata?: object; [member: string]: unknown }): Shape => ({ resource, body: { ...body, metadata: { name: 'x', namespace: 'default', uid: 'u-1', ...body.metadata } } });

const context = { get: () => undefined, list: () => [], limits: { maxQpsPerRunner: 1, maxRequestsPerRound: 1, maxBodyBytes: 1 }, now: 0 };

/** What its creator is warned of. */
export function warningsOf({ resource, body }: Shape): readonly string[] {
  const kind = kindByResource.get(resource)!;
  return kind.validate?.(decode(kind, structuredClone(body), 'Strict').object, context).warnings ?? [];
}

/** What schema and rules have against it, as `field: message`; on update only what is wrong beside the old one. */
export function causesOf({ resource, body }: Shape, old?: Shape): string[] {
  const kind = kindByResource.get(resource)!;
  const read = (given: Record<string, unknown>): KubeObject => {
    const body = structuredClone(given);
    kind.prepare?.(body, undefined);
    return decode(kind, body, 'Strict').object;
  };
  const admission: AdmissionContext = old === undefined ? context : { ...context, old: read(old.body) };
  try {
    return (kind.validate?.(read(body), admission).causes ?? []).map(({ field, message }) => `${field}: ${message}`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return (error.status.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`);
  }
}
