import { describe, expect, it } from '@jest/globals';
import type { NetworkState } from '@roundsman/network';
import { emptyState, endpoint, service, slice, slicesResource } from '../testing/objects.ts';
import { speakers } from './speaker.ts';

let version = 1;
const node = (name: string, ready: boolean) => ({
  apiVersion: 'v1', kind: 'Node', metadata: { name, uid: name, resourceVersion: String(version++) }, spec: {}, status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'Unknown' }] },
});
const names = ['n1', 'n2', 'n3'];
const addresses = Array.from({ length: 60 }, (_, index) => `198.51.100.${index + 1}`);
function cluster(): NetworkState {
  const state = emptyState();
  for (const name of names) state.apply('ADDED', 'nodes', node(name, true));
  for (const address of addresses) state.apply('ADDED', 'services', service(`s${address}`, { clusterIP: '10.96.0.1', type: 'LoadBalancer' }, [address]));
  return state;
}

describe('who answers for a load balancer address', () => {
  it('one Ready node each, spread over all; when one is lost only its addresses move, and they come back with it', () => {
    const state = cluster();
    const before = speakers(state);
    expect([...before.keys()].sort()).toEqual(addresses.toSorted());
    for (const name of names) expect([...before.values()].filter((one) => one === name).length).toBeGreaterThan(8);
    state.apply('MODIFIED', 'nodes', node('n2', false));
    const without = speakers(state);
    expect([...without.values()]).not.toContain('n2');
    for (const [address, name] of before) if (name !== 'n2') expect(without.get(address)).toBe(name);
    state.apply('MODIFIED', 'nodes', node('n2', true));
    expect(speakers(state)).toEqual(before);
  });

  it('with externalTrafficPolicy Local one that has an endpoint', () => {
    const state = cluster();
    state.apply('ADDED', 'services', service('near', { clusterIP: '10.96.0.2', type: 'LoadBalancer', externalTrafficPolicy: 'Local' }, ['198.51.100.200']));
    for (const name of names) {
      state.apply('ADDED', slicesResource, slice('near', [endpoint('10.244.0.1', name)]));
      expect(speakers(state).get('198.51.100.200')).toBe(name);
    }
  });

  it('nobody where no node is Ready', () => {
    const state = cluster();
    for (const name of names) state.apply('MODIFIED', 'nodes', node(name, false));
    expect(speakers(state).size).toBe(0);
  });
});
