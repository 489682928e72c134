import { builtInNamespaces, systemPriorities } from '@roundsman/api';
import type { WriteRequest } from './admission/outcome.ts';
import type { State } from './state.ts';

const descriptions: Readonly<Record<string, string>> = {
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
  'system-cluster-critical': 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
};

/** Makes the namespaces and priority classes that every cluster has, where they are missing. */
export async function ensureFirstObjects(state: State, submit: (write: WriteRequest) => Promise<unknown>): Promise<void> {
  const first = [
    ...builtInNamespaces.map((name) => ({ resource: 'namespaces', name, object: { metadata: { name } } })),
    ...Object.entries(systemPriorities).map(([name, value]) => ({ resource: 'priorityclasses.scheduling.k8s.io', name, object: { metadata: { name }, value, description: descriptions[name] } })),
  ];
  const missing = first.filter(({ resource, name }) => state.get(resource, undefined, name) === undefined);
  await Promise.all(missing.map((one) => submit({ operation: 'create', fieldValidation: 'Strict', dryRun: false, user: 'system:roundsman:intake', ...one })));
}
