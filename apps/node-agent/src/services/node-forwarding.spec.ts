import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, describe } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { NodeForwarding } from './node-forwarding.ts';
import { emptyState, endpoint, service, slice, slicesResource } from './testing/objects.ts';
import { EmptyNamespace, whenPackets } from './testing/packet-lab.ts';

whenPackets(describe)('the forwarding of a node', () => {
  let namespaces: EmptyNamespace[];
  let folder: string;
  beforeEach(() => {
    namespaces = [new EmptyNamespace(), new EmptyNamespace()];
    folder = mkdtempSync(join(tmpdir(), 'services-'));
  });
  afterEach(() => {
    for (const namespace of namespaces) namespace.stop();
    rmSync(folder, { recursive: true });
  });

  it('is in the new namespace of a node as soon as it has one, host ports too', async () => {
    const state = emptyState();
    state.apply('ADDED', 'services', service('web', { clusterIP: '10.96.0.1' }));
    state.apply('ADDED', slicesResource, slice('web', [endpoint('10.244.0.1', 'here')]));
    let place = namespaces[0];
    let renewed: () => void = () => undefined;
    const log = { info: () => undefined, warn: () => undefined } as never;
    const forwarding = new NodeForwarding({
      cluster: 'c', node: 'here', mode: 'nftables', state, network: 'namespace', machine: false, folder, log, place: () => place,
      onPlace: (listener) => {
        renewed = listener;
        return () => undefined;
      },
    });
    forwarding.start();
    try {
      await forwarding.hostPorts.publish('pod-a', [{ protocol: 'TCP', hostIP: '', hostPort: 8_080, address: '10.244.0.1', containerPort: 80 }]);
      expect(forwarding.condition()).toMatchObject({ status: 'True', reason: 'Nftables' });
      place = namespaces[1];
      renewed();
      await eventually(() => expect(namespaces[1]?.run('nft list ruleset')).toBe(namespaces[0]?.run('nft list ruleset')));
      expect(namespaces[1]?.run('nft list ruleset')).toContain('pod-a');
    } finally {
      await forwarding.stop();
    }
  });
});
