import { claimsOf, storageFinalizers, type PersistentVolumeClaim } from '@roundsman/api';
import { byKey, keysOf, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { withLists } from '../owner.ts';

/** Lets a claim that is to go do so once no pod that has a node uses it. */
export function claimProtection({ caches, objects }: Deps): LoopDefinition {
  const { claims, pods } = caches;
  const isUsed = ({ metadata }: PersistentVolumeClaim): boolean => pods.by('namespace', metadata.namespace ?? '').some((pod) => (pod.spec.nodeName ?? '') !== '' && claimsOf(pod).includes(metadata.name));
  return {
    name: 'claim-protection',
    keys: keysOf(claims),
    wakes: [onOwnChange(claims), onChange(pods, ({ type, object }) => (type === 'DELETED' ? claimsOf(object).map((name) => `${object.metadata.namespace}/${name}`) : []))],
    async reconcile(key) {
      const claim = byKey(claims, key);
      const finalizers = claim?.metadata.finalizers ?? [];
      if (claim?.metadata.deletionTimestamp === undefined || !finalizers.includes(storageFinalizers.claim) || isUsed(claim)) return;
      await objects.update(claims, { ...claim, metadata: withLists(claim.metadata, { finalizers: finalizers.filter((one) => one !== storageFinalizers.claim) }) });
    },
  };
}
