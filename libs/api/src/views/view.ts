import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import type { Stored } from '../rules/cluster.ts';
import type { FieldValidation } from '../validation/decode.ts';

/**
 * Another API group's or version's face of a stored kind: same objects, other names and fields. Its own `schema` says which fields it
 * knows; ours beyond them are hidden when it is read and kept when it is written. One that is cluster-scoped shows the objects of one namespace.
 */
export interface View extends Kind {
  /** Stored-resource key of the objects behind it. */
  readonly resource: string;
  readonly toView: (object: KubeObject) => KubeObject;
  /** A body written in this group, in stored form (no namespace: the caller knows it). Throws ApiError as `decode` does. */
  readonly fromView: (body: Readonly<Record<string, unknown>>, old: KubeObject | undefined, fieldValidation: FieldValidation, cluster: Stored) => { object: Record<string, unknown>; warnings: string[] };
}
