import { describe, expect, it } from '@jest/globals';
import { kindByResource } from '../registry.ts';
import { causesOf, object, type Shape } from '../testing/rules.ts';
import { metadataCauses } from './metadata.ts';

describe('what small kinds have against objects', () => {
  const lease = (spec: object): Shape => object('leases.coordination.k8s.io', { spec });
  it.each<[name: string, given: Shape, ...causes: string[]]>([
    ['a lease', lease({ leaseDurationSeconds: 15, renewTime: '2026-01-02T03:04:05.000006Z' })],
    ['a lease for no time', lease({ leaseDurationSeconds: 0, leaseTransitions: -1 }), 'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0', 'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
    ['a lease of yesterday', lease({ renewTime: 'yesterday' }), 'spec.renewTime: Invalid value: "yesterday": must be a time in RFC 3339, such as 2006-01-02T15:04:05.000000Z'],
    ['an event', object('events', { involvedObject: { namespace: 'default' } })],
    ['an event of a node', object('events', { involvedObject: { kind: 'Node', name: 'n' } })],
    ['an event that stands elsewhere', object('events', { involvedObject: { namespace: 'other' } }), 'involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
    ['a node with less than nothing', object('nodes', { status: { capacity: { cpu: '-1' } } }), 'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0'],
    ['a pod without a spec', object('pods', {}), 'spec.containers: Required value'],
  ])('%s', (_name, given, ...causes) => expect(causesOf(given)).toEqual(causes));

  it('the range of a node stays, in both forms', () => {
    const node = (podCIDR: string): Shape => object('nodes', { spec: { podCIDR } });
    expect(causesOf(node('10.9.0.0/24'), node('10.9.0.0/24'))).toEqual([]);
    expect(causesOf(node('10.8.0.0/24'), node('10.9.0.0/24'))).toEqual(['spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid']);
  });
});

describe('metadata', () => {
  it.each<[name: string, resource: string, metadata: object, ...causes: (string | RegExp)[]]>([
    ['is good', 'pods', { generateName: 'web-', finalizers: ['a.b/c', 'orphan'] }],
    ['begins generated names well', 'pods', { generateName: 'A_' }, /^metadata\.generateName: Invalid value: "A_": a lowercase RFC 1123 subdomain/],
    ['has no dots in namespaces', 'namespaces', { name: 'a.b' }, 'metadata.name: Invalid value: "a.b": must not contain dots'],
    ['has one slash in a key', 'pods', { labels: { 'a/b/c': 'd' } }, /^metadata\.labels: Invalid value: "a\/b\/c": a qualified name must consist of .* with an optional DNS subdomain prefix/],
    ['says which finalizer is no name', 'pods', { finalizers: ['a.b/c', 'mine'] }, 'metadata.finalizers[1]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified'],
    ['has one controller', 'pods', { ownerReferences: ['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Pod', name, uid: name, controller: true })) }, /Only one reference can have Controller set to true\. Found "true" in references for Pod\/a and Pod\/b$/],
  ])('%s', (_name, resource, metadata, ...expected) => {
    const kind = kindByResource.get(resource)!;
    const causes = metadataCauses(kind, { name: 'x', ...(kind.namespaced ? { namespace: 'default' } : {}), ...metadata }).map(({ field, message }) => `${field}: ${message}`);
    expect(causes).toEqual(expected.map((one) => (typeof one === 'string' ? one : expect.stringMatching(one))));
  });
});
