import { describe, expect, it } from '@jest/globals';
import { causesOf, object } from '../../testing/rules.ts';

const claim = (spec: object = {}, more: object = {}) => object('persistentvolumeclaims', { spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec }, ...more });
const volume = (spec: object = {}) => object('persistentvolumes', { metadata: { namespace: undefined }, spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/data' }, ...spec } });
const storageClass = (body: object = {}) => object('storageclasses.storage.k8s.io', { metadata: { namespace: undefined }, provisioner: 'kubernetes.io/no-provisioner', ...body });

describe('what a claim may ask for', () => {
  it('is said in the words of Kubernetes', () => {
    expect(causesOf(claim())).toEqual([]);
    expect(causesOf(claim({ accessModes: undefined, resources: {} }))).toEqual(['spec.accessModes: Required value: at least 1 access mode is required', 'spec.resources[storage]: Required value']);
    expect(causesOf(claim({ accessModes: ['Any'] }))).toEqual(['spec.accessModes: Unsupported value: "Any": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"']);
    expect(causesOf(claim({ accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] }))).toEqual(['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes']);
    expect(causesOf(claim({ resources: { requests: { storage: '0' } } }))).toEqual(['spec.resources[storage]: Invalid value: "0": must be greater than zero']);
  });

  it('changes only by its volume, the class it had not, and its size once it is bound', () => {
    const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
    const larger = { resources: { requests: { storage: '2Gi' } } };
    expect(causesOf(claim({ volumeName: 'v' }), claim())).toEqual([]);
    expect(causesOf(claim({ storageClassName: 'fast' }), claim())).toEqual([]);
    expect(causesOf(claim(larger, bound), claim({}, bound))).toEqual([]);
    expect(causesOf(claim(larger), claim())[0]).toContain('spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims');
    expect(causesOf(claim({ storageClassName: 'slow' }), claim({ storageClassName: 'fast' }))[0]).toContain('spec is immutable after creation');
    expect(causesOf(claim({ volumeName: 'w' }, bound), claim({ volumeName: 'v' }, bound))[0]).toContain('spec is immutable after creation');
    expect(causesOf(claim({ resources: { requests: { storage: '1Gi' } } }, bound), claim({ resources: { requests: { storage: '3Gi' } } }, bound))).toEqual(['spec.resources.requests.storage: Forbidden: field can not be less than status.capacity']);
  });
});

describe('a volume', () => {
  it('has one source, a size, and an affinity where it is of one node', () => {
    expect(causesOf(volume())).toEqual([]);
    expect(causesOf(volume({ hostPath: undefined }))).toEqual(['spec: Required value: must specify a volume type']);
    expect(causesOf(volume({ nfs: { server: '', path: 'x' } }))).toEqual(['spec.nfs: Forbidden: may not specify more than 1 volume type', 'spec.nfs.server: Required value', 'spec.nfs.path: Invalid value: "x": must be an absolute path']);
    expect(causesOf(volume({ hostPath: undefined, local: { path: '/disk' } }))).toEqual(['metadata.annotations: Required value: Local volume requires node affinity']);
    expect(causesOf(volume({ capacity: undefined, accessModes: [], hostPath: { path: '/a/../b' } }))).toEqual([
      'spec.accessModes: Required value',
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: {}: supported values: "storage"',
      'spec.hostPath.path: Invalid value: "/a/../b": must not contain \'..\'',
    ]);
  });

  it('stays what it is', () => {
    expect(causesOf(volume({ hostPath: { path: '/other' } }), volume())[0]).toContain('spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation');
    expect(causesOf(volume({ volumeMode: 'Block' }), volume())).toEqual(['volumeMode: Invalid value: "Block": field is immutable']);
    expect(causesOf(volume({ capacity: { storage: '2Gi' }, persistentVolumeReclaimPolicy: 'Delete' }), volume())).toEqual([]);
  });
});

describe('a class', () => {
  it('says what its provisioner needs, and keeps to it', () => {
    expect(causesOf(storageClass())).toEqual([]);
    expect(causesOf(storageClass({ provisioner: '' }))).toEqual(['provisioner: Required value']);
    expect(causesOf(storageClass({ provisioner: 'roundsman.io/nfs', parameters: { path: 'data' } }))).toEqual([
      'parameters[server]: Required value: roundsman.io/nfs needs the address of an NFS server',
      'parameters[path]: Invalid value: "data": must be an absolute path without \'..\'',
    ]);
    expect(causesOf(storageClass({ provisioner: 'roundsman.io/local' }))[0]).toContain('volumeBindingMode: Invalid value: "Immediate": must be WaitForFirstConsumer');
    expect(causesOf(storageClass({ provisioner: 'x/y', reclaimPolicy: 'Retain', volumeBindingMode: 'WaitForFirstConsumer', parameters: { a: 'b' } }), storageClass())).toEqual([
      'parameters: Forbidden: updates to parameters are forbidden.',
      'provisioner: Forbidden: updates to provisioner are forbidden.',
      'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ]);
  });
});
