import { byKey, keysOf, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';

const defaultAccount = 'default';

/** Every namespace has a ServiceAccount `default`, also after a person has deleted it. */
export function defaultAccounts({ caches, objects }: Deps): LoopDefinition {
  return {
    name: 'default-accounts',
    keys: keysOf(caches.namespaces),
    wakes: [
      onOwnChange(caches.namespaces),
      onChange(caches.serviceAccounts, ({ type, object: { metadata } }) => (type === 'DELETED' && metadata.name === defaultAccount ? [`/${metadata.namespace}`] : [])),
    ],
    async reconcile(key) {
      const namespace = byKey(caches.namespaces, key);
      if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
      const { name } = namespace.metadata;
      if (caches.serviceAccounts.get(name, defaultAccount) !== undefined) return;
      await objects.create(caches.serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: defaultAccount, namespace: name } });
    },
  };
}
