import { claimNameOf, isPodTerminating, type Pod, type Volume } from '@roundsman/api';
import { byKey, keysOf, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { controllerReference, isControlledBy } from '../owner.ts';

/** Makes the claims of generic ephemeral volumes; they belong to their pods, and go with them. */
export function ephemeralClaims({ caches, objects, recorder }: Deps): LoopDefinition {
  const tell = recorder.from('ephemeral_volume');
  const { claims, pods } = caches;

  async function make(pod: Pod, volume: Volume): Promise<void> {
    const name = claimNameOf(pod, volume) ?? '';
    const template = volume.ephemeral?.volumeClaimTemplate;
    const { namespace = '' } = pod.metadata;
    if (template === undefined) return;
    const there = claims.get(namespace, name);
    if (there !== undefined) {
      if (!isControlledBy(there, pod)) tell(pod, 'Warning', 'FailedCreate', `ephemeral volume ${volume.name}: PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata.name} (pod is not owner)`);
      return;
    }
    const { labels = {}, annotations = {} } = template.metadata ?? {};
    await objects.create(claims, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace, labels: labels ?? {}, annotations: annotations ?? {}, ownerReferences: [controllerReference(pod)] }, spec: template.spec });
  }

  return {
    name: 'ephemeral-claims',
    keys: keysOf(pods),
    wakes: [onOwnChange(pods)],
    async reconcile(key) {
      const pod = byKey(pods, key);
      if (pod === undefined || isPodTerminating(pod)) return;
      for (const volume of pod.spec.volumes ?? []) if (volume.ephemeral !== undefined) await make(pod, volume);
    },
  };
}
