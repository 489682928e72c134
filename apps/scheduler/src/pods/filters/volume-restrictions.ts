import { claimsOf } from '@roundsman/api';
import type { NodeInfo } from '../cluster/node-info.ts';
import { notNow, type Filter } from './filter.ts';

const refusal = notNow('node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode');

/** A claim that is for one pod only is used by no second one, on any node. */
export const volumeRestrictions: Filter = {
  name: 'VolumeRestrictions',
  helpedBy: ['pod-gone', 'storage'],
  prepare: ({ pod, namespace, uid }, { nodes, storage }) => {
    const single = claimsOf(pod).filter((name) => storage.claim(namespace, name)?.spec.accessModes?.includes('ReadWriteOncePod') === true);
    if (single.length === 0) return undefined;
    const isUsedOn = (node: NodeInfo): boolean => [...node.pods.values()].some((other) => other.uid !== uid && other.namespace === namespace && claimsOf(other.pod).some((name) => single.includes(name)));
    const users = new Set(nodes.filter(isUsedOn).map(({ name }) => name));
    return (node) => {
      const elsewhere = users.size - (users.has(node.name) ? 1 : 0);
      return elsewhere > 0 || isUsedOn(node) ? refusal : undefined;
    };
  },
};
