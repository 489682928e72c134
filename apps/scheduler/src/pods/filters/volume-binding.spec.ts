import { describe, expect, it } from '@jest/globals';
import { provisioners, storageAnnotations, volumesFolderAnnotation, type PersistentVolume, type PersistentVolumeClaim, type StorageClass } from '@roundsman/api';
import { info, nodeWith, said, storageOf } from '../testing/objects.ts';
import { volumeBinding } from './volume-binding.ts';
import { volumeRestrictions } from './volume-restrictions.ts';

const claim = (name: string, spec: object = {}, more: { annotations?: Record<string, string>; deletionTimestamp?: string; phase?: string } = {}): PersistentVolumeClaim =>
  ({
    apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations: more.annotations ?? {}, ...(more.deletionTimestamp === undefined ? {} : { deletionTimestamp: more.deletionTimestamp }) },
    spec: { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', resources: { requests: { storage: '1Gi' } }, ...spec }, status: { phase: more.phase ?? 'Pending' },
  }) as unknown as PersistentVolumeClaim;
const bound = (name: string, volumeName: string): PersistentVolumeClaim => claim(name, { volumeName }, { annotations: { [storageAnnotations.bindCompleted]: 'yes' }, phase: 'Bound' });
const volume = (name: string, node?: string, spec: object = {}): PersistentVolume =>
  ({
    apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, status: { phase: 'Available' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem', ...spec, ...(node === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }] }] } } }) },
  }) as unknown as PersistentVolume;
const lazy = (name: string, provisioner: string): StorageClass => ({ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, provisioner, reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' }) as unknown as StorageClass;
const nodes = [nodeWith('a'), nodeWith('b')];
const uses = (...names: string[]) => info('p', { volumes: names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })) });
const asked = (pod: ReturnType<typeof info>, ...objects: (PersistentVolumeClaim | PersistentVolume | StorageClass)[]) => said(volumeBinding, pod, nodes, { storage: storageOf(...objects) });

describe('a pod waits, whatever the node,', () => {
  it('while its claims are missing, going, lost or to be bound without it', () => {
    const missing = 'persistentvolumeclaim "c" not found';
    expect(asked(uses('c'))).toEqual([missing, missing]);
    expect(asked(info('x', { volumes: [{ name: 'v', ephemeral: {} }] }))[0]).toBe('waiting for ephemeral volume controller to create the persistentvolumeclaim "x-v"');
    expect(asked(uses('c'), claim('c', {}, { deletionTimestamp: 'now' }))[0]).toBe('persistentvolumeclaim "c" is being deleted');
    expect(asked(uses('c'), claim('c', { volumeName: 'v' }, { phase: 'Lost' }))[0]).toBe('persistentvolumeclaim "c" bound to non-existent persistentvolume "v"');
    expect(asked(uses('c'), claim('c'))[0]).toBe('pod has unbound immediate PersistentVolumeClaims');
    expect(asked(info('x', { volumes: [{ name: 'e', emptyDir: {} }] }))).toEqual(['ok', 'ok']);
  });
});

describe('a node is refused', () => {
  it('from which a volume of the pod cannot be reached', () => {
    expect(asked(uses('c', 'd'), bound('c', 'v'), volume('v', 'a'), bound('d', 'w'), volume('w'))).toEqual(['ok', 'node(s) had volume node affinity conflict']);
    expect(asked(uses('c'), bound('c', 'v'))[0]).toBe('node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)');
  });

  it('on which its claims cannot all have a volume', () => {
    const none = "node(s) didn't find available persistent volumes to bind";
    const manual = lazy('manual', 'kubernetes.io/no-provisioner');
    const of = { storageClassName: 'manual' };
    expect(asked(uses('c'), manual, claim('c', of), volume('v', 'b', of))).toEqual([none, 'ok']);
    // One volume is not enough for two.
    expect(asked(uses('c', 'd'), manual, claim('c', of), claim('d', of), volume('v', 'b', of))).toEqual([none, none]);
    expect(asked(uses('c', 'd'), manual, claim('c', of), claim('d', of), volume('v', 'b', of), volume('w', undefined, of))).toEqual([none, 'ok']);
    expect(asked(uses('c'), lazy('made', 'example.com/disks'), claim('c', { storageClassName: 'made' }))).toEqual(['ok', 'ok']);
    expect(asked(uses('c'), lazy('made', 'example.com/disks'), claim('c', { storageClassName: 'made' }, { annotations: { [storageAnnotations.selectedNode]: 'b' } }))).toEqual([none, 'ok']);
  });

  it('that makes no directories for volumes', () => {
    const keeper = nodeWith('k');
    Object.assign(keeper.node.metadata, { annotations: { [volumesFolderAnnotation]: '/volumes' } });
    const storage = storageOf(lazy('local', provisioners.local), claim('c', { storageClassName: 'local' }));
    expect(said(volumeBinding, uses('c'), [nodeWith('a'), keeper], { storage })).toEqual(["node(s) didn't find available persistent volumes to bind", 'ok']);
  });

  it('while another pod, anywhere, uses a claim that is for one pod only', () => {
    const storage = storageOf(claim('c', { accessModes: ['ReadWriteOncePod'] }), claim('shared'));
    const placed = [nodeWith('a', [info('other', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }, { name: 's', persistentVolumeClaim: { claimName: 'shared' } }] })]), nodeWith('b')];
    const refusal = '!node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode';
    expect(said(volumeRestrictions, uses('c'), placed, { storage })).toEqual([refusal, refusal]);
    expect(said(volumeRestrictions, uses('shared'), placed, { storage })).toEqual(['ok', 'ok']);
    expect(said(volumeRestrictions, uses('c'), nodes, { storage })).toEqual(['ok', 'ok']);
  });
});
