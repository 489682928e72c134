import { z } from 'zod';
import { ageColumn, column, nameColumn, textAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import { conditionSchema } from '../meta.ts';
import { labelProblem } from '../names.ts';
import { objectOf } from './object.ts';

const schema = objectOf('v1', 'Namespace', 'Holds objects whose names need only be unique within it', {
  spec: z
    .object({ finalizers: z.array(z.string()).optional().describe('Must be empty before the namespace is removed') })
    .optional()
    .describe('Behaviour of the namespace'),
  status: z
    .object({
      phase: z.enum(['Active', 'Terminating']).optional().describe('Terminating once deletion was asked for'),
      conditions: z.array(conditionSchema).optional().describe('Why it is still there while it terminates'),
    })
    .optional()
    .describe('State of the namespace'),
});

/** Namespaces that are made at the first start and cannot be deleted. */
export const builtInNamespaces = ['default', 'kube-node-lease', 'kube-public', 'kube-system', 'roundsman-system'] as const;

export const namespace: Kind = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  singular: 'namespace',
  shortNames: ['ns'],
  categories: [],
  namespaced: false,
  nameProblem: labelProblem,
  schema,
  hasStatus: true,
  columns: [nameColumn, column('Status', 'string', 'Active or Terminating', (object) => textAt(object, 'status', 'phase') ?? null), ageColumn],
  fieldSelectors: ['status.phase'],
  generationOf: () => undefined,
  prepare(object, old) {
    const metadata = object['metadata'] as { name?: string; labels?: Record<string, string> | null };
    // Anything else is left for the schema to refuse.
    if (typeof (metadata.labels ?? {}) !== 'object' || Array.isArray(metadata.labels) || typeof (metadata.name ?? '') !== 'string') return;
    metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name ?? '' };
    if (old === undefined) object['status'] = { phase: 'Active' };
    // Stands for its contents, which go first; nobody else changes it.
    object['spec'] = old === undefined ? { finalizers: ['kubernetes'] } : old.spec;
  },
};
