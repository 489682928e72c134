import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';

/** Where objects and their changes are read: Postgres (libs/store) for those who have it, intake over the bus for the others. */
export interface ObjectSource {
  /** All objects of a resource and the version to follow from. */
  list(resource: string): Promise<{ version: number; items: KubeObject[] }>;
  /** Changes after `since`, in order; at most `limit`, `more` says there are others; when not, nothing up to `head` is missing. Throws Expired when they were trimmed. */
  changes(since: number, options: { resource?: string; limit: number }): Promise<{ head: number; changes: Change[]; more: boolean }>;
}

/** The changes after that version are no longer kept (HTTP 410): list again. */
export class Expired extends Error {
  override readonly name = 'Expired';
}
