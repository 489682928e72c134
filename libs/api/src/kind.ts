import type { z } from 'zod';
import type { KubeObject } from './meta.ts';
import type { Policy } from './policy.ts';

/** A column of `kubectl get`; priority 0 is always shown, 1 only with -o wide. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  readonly priority: 0 | 1;
  /** The cell; `now` is milliseconds since the epoch (ages). */
  readonly cell: (object: KubeObject, now: number) => string | number | boolean | null;
}

/** One thing wrong with an object, as in Status.details.causes: `field` is a path such as `spec.request.qps`. */
export interface Cause {
  readonly field: string;
  readonly reason: 'FieldValueInvalid' | 'FieldValueRequired' | 'FieldValueNotSupported' | 'FieldValueForbidden' | 'FieldValueDuplicate' | 'FieldValueTooLong' | 'FieldValueTooMany' | 'FieldValueTypeInvalid' | 'FieldValueNotFound';
  readonly message: string;
}

/** What semantic rules may look at besides the object itself. */
export interface AdmissionContext {
  /** The stored object on update. */
  readonly old?: KubeObject;
  /** `kdoctor.io/v1beta1` when the write came through that view: what the cluster cannot do yet is then a warning, not an error. */
  readonly view?: string;
  /** A stored object by resource key, for rules that look at others. */
  readonly get: (resource: string, namespace: string | undefined, name: string) => KubeObject | undefined;
  readonly list: (resource: string) => readonly KubeObject[];
  readonly limits: Limits;
  /** Which addresses no probe may connect to; literal addresses are judged at admission, names when they are probed. */
  readonly policy?: Policy;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Configured ceilings; each refusal names the one it hit. */
export interface Limits {
  /** Highest qps a task may ask of one runner, over all its targets; less where a ready runner declares less. */
  readonly maxQpsPerRunner: number;
  readonly maxRequestsPerRound: number;
  readonly maxBodyBytes: number;
}

/** A kind: one file in `kinds/`, registered in `registry.ts`. Adding a kind is that file and one line; a large one has its parts in a folder of its name. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** The whole object, metadata included; descriptions in it become `kubectl explain` and OpenAPI. Fills defaults when parsed. */
  readonly schema: z.ZodType;
  readonly hasStatus: boolean;
  readonly columns: readonly Column[];
  /** Paths usable in field selectors besides metadata.name and metadata.namespace. */
  readonly fieldSelectors: readonly string[];
  /** What is wrong with a name of this kind; what is with a DNS-1123 subdomain unless set. */
  readonly nameProblem?: (name: string) => string | undefined;
  /** Longest name, where it is shorter than the 253 characters of Kubernetes. */
  readonly maxNameLength?: number;
  /** Members whose values are never repeated, in no message. */
  readonly confidential?: readonly string[];
  /** Rules a schema cannot say. */
  readonly validate?: (object: KubeObject, context: AdmissionContext) => { causes: Cause[]; warnings: string[] };
  /** What the server itself fills in before the schema is applied (Secret.stringData into data). Changes `object`, which is the caller's copy. */
  readonly prepare?: (object: Record<string, unknown>, old: KubeObject | undefined) => void;
  /** Defaults that depend on other members, after the schema has filled in its own. Changes `object`; nothing when done again. */
  readonly complete?: (object: KubeObject) => void;
  /** Outside of metadata null means absent, as clients of Kubernetes send it, and what is empty is not stored where Kubernetes does not tell it from absent. */
  readonly emptyIsAbsent?: boolean;
  /** Members of the spec (or whole top-level members) whose change bumps `metadata.generation`; default: `spec`. Undefined: objects of this kind have no generation. */
  readonly generationOf?: (object: KubeObject) => unknown;
  /** Only the product's own services may write it (a person may read and delete). */
  readonly internal?: boolean;
  /** It has `/scale`: replicas at spec.replicas and status.replicas; `selector` is the text form of what its pods are chosen by. */
  readonly scale?: { readonly selector: (object: KubeObject) => string };
  /**
   * Deleting it only marks it (deletionTimestamp in the future, deletionGracePeriodSeconds) and leaves the end to who runs it. `seconds` is the
   * object's own grace; undefined: it may go at once (a pod on no node, or one that has ended).
   */
  readonly graceful?: { readonly seconds: (object: KubeObject) => number | undefined };
  /** Deleted without a word about what it owns it leaves that behind, as Kubernetes keeps it for old clients (jobs); others take it along. */
  readonly orphans?: boolean;
  /** Served below it besides status and scale: `binding`, `eviction`, `log`, `exec`, `attach`, `portforward`. */
  readonly subresources?: readonly string[];
  /** Not stored: the gateway reads it from elsewhere (report tables). Only get, list and watch. */
  readonly virtual?: boolean;
}

/** `configmaps`, `netreaches.roundsman.io`: the key under which the store and the bus know a kind. */
export const resourceKey = (kind: Pick<Kind, 'group' | 'plural'>): string => (kind.group === '' ? kind.plural : `${kind.plural}.${kind.group}`);
export const apiVersionOf = (kind: Pick<Kind, 'group' | 'version'>): string => (kind.group === '' ? kind.version : `${kind.group}/${kind.version}`);
