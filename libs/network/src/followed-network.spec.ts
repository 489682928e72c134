import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ClusterNetwork } from '@roundsman/api';
import { agentIdentity, endpoint, messages, serviceIdentity, type Bus } from '@roundsman/bus';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { FollowedNetwork } from './followed-network.ts';

const network: ClusterNetwork = {
  podCidrs: ['10.244.0.0/16'], nodePrefixes: [24], serviceCidrs: ['10.96.0.0/16'], loadBalancerCidrs: [], nodePorts: { first: 30000, last: 32767 },
  domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw',
};
const service = (name: string) => ({ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name, uid: name }, spec: {} });

let nats: TestNats;
let intake: Bus;
let agent: Bus;
beforeAll(async () => {
  nats = await startNats({ identities: [serviceIdentity('intake'), agentIdentity('n1')] });
  [intake, agent] = await Promise.all([nats.connect('intake'), nats.connect('agent-n1')]);
});
afterAll(() => nats.stop());

it('follows the network: all pages first, then each change, and all again after a gap', async () => {
  let services = ['a', 'b'];
  let version = 7;
  let backend: ClusterNetwork['backend'] = 'host-gw';
  const served = await intake.serve({ name: 'intake', version: '0.1.0', description: 'test' }, [
    endpoint(messages.networkState, ({ seen, after }) => {
      if (seen === version) return { version, network: { ...network, backend } };
      // One per page.
      const at = after === undefined ? 0 : Number(after);
      return { version, network, objects: [{ resource: 'services', object: service(services[at] ?? '') }], ...(at + 1 < services.length ? { next: String(at + 1) } : {}) };
    }),
  ]);
  const followed = new FollowedNetwork(agent, { warn: () => undefined });
  const names = (): string[] => followed.state.services().map(({ metadata }) => metadata.name).sort();
  await followed.start();
  await eventually(() => expect(followed.state.network).toEqual(network));
  expect(names()).toEqual(['a', 'b']);

  intake.publish(messages.networkChange, {}, { type: 'ADDED', version: 9, previous: 7, resource: 'services', object: service('c') });
  await eventually(() => expect(names()).toEqual(['a', 'b', 'c']));

  // What was told at 11 is lost: that b is gone.
  services = ['a', 'c', 'd'];
  version = 12;
  intake.publish(messages.networkChange, {}, { type: 'ADDED', version: 12, previous: 11, resource: 'services', object: service('d') });
  await eventually(() => expect(names()).toEqual(['a', 'c', 'd']));

  // An intake with another setting, and nothing else that is new.
  backend = 'vxlan';
  intake.publish(messages.networkChange, {}, { type: 'MODIFIED', version: 13, previous: 0, resource: 'services', object: service('d') });
  await eventually(() => expect(followed.state.network?.backend).toBe('vxlan'));
  await followed.stop();
  await served.stop();
});
