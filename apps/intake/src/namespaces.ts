import { builtInNamespaces } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { Logger } from 'pino';
import { namespaceSweeper, type WriteRequest } from './admit.ts';
import type { WriteReply } from './group-commit.ts';
import type { State } from './state.ts';

type Submit = (write: WriteRequest) => Promise<WriteReply>;
const request = (write: Pick<WriteRequest, 'operation' | 'resource'> & Partial<WriteRequest>): WriteRequest => ({ fieldValidation: 'Strict', dryRun: false, user: namespaceSweeper, ...write });

/** Makes the namespaces that every cluster has. */
export async function ensureNamespaces(state: State, submit: Submit): Promise<void> {
  const missing = builtInNamespaces.filter((name) => state.get('namespaces', undefined, name) === undefined);
  await Promise.all(missing.map((name) => submit(request({ operation: 'create', resource: 'namespaces', name, object: { metadata: { name } } }))));
}

/** Empties namespaces that were deleted and removes them once nothing is left in them. */
export class NamespaceSweep {
  readonly #state: State;
  readonly #submit: Submit;
  readonly #log: Logger;
  readonly #terminating = new Set<string>();

  constructor(state: State, submit: Submit, log: Logger) {
    this.#state = state;
    this.#submit = submit;
    this.#log = log;
  }

  /** Takes up those that were left by the last leader. */
  start(): void {
    for (const { metadata } of this.#state.list('namespaces')) {
      if (metadata.deletionTimestamp !== undefined) this.#sweep(metadata.name);
    }
  }

  /** Looks at committed changes: a namespace that ends, or the last object of one. */
  committed(changes: readonly Change[]): void {
    const touched = new Set<string>();
    for (const change of changes) {
      if (change.resource === 'namespaces' && change.type === 'MODIFIED' && change.object.metadata['deletionTimestamp'] !== undefined) touched.add(change.name);
      else if (change.type === 'DELETED' && this.#terminating.has(change.namespace)) touched.add(change.namespace);
    }
    for (const name of touched) this.#sweep(name);
  }

  #sweep(name: string): void {
    const first = !this.#terminating.has(name);
    this.#terminating.add(name);
    const inside = [...this.#state.inNamespace(name)];
    if (inside.length === 0) {
      this.#terminating.delete(name);
      this.#delete('namespaces', undefined, name);
    } else if (first) {
      for (const { resource, object } of inside) this.#delete(resource, name, object.metadata.name);
    }
  }

  #delete(resource: string, namespace: string | undefined, name: string): void {
    this.#submit(request({ operation: 'delete', resource, namespace, name })).catch((error: Error) => {
      // The next leader starts over; anything else is told by its refusal.
      this.#log.warn({ resource, namespace, name, err: error }, 'clearing a deleted namespace');
    });
  }
}
