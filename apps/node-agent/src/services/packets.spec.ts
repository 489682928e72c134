import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServiceSpec } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import { eventually } from '@roundsman/testkit';
import { forwardingTable } from './forwarding/forwarding-table.ts';
import type { ForwardingTable } from './forwarding/table.ts';
import { ServiceProxy } from './service-proxy.ts';
import { PacketLab, whenPackets, type Peer } from './testing/packet-lab.ts';
import { emptyState, endpoint, service, slice, slicesResource } from './testing/objects.ts';

const log = { info: () => undefined, warn: () => undefined };
const refused = 'ECONNREFUSED';
const tally = (answers: readonly string[]): Record<string, number> => answers.reduce<Record<string, number>>((sum, answer) => ({ ...sum, [answer.split(' ')[0] ?? '']: (sum[answer.split(' ')[0] ?? ''] ?? 0) + 1 }), {});

/** p1 and p2 are on this node, p3 on another one. */
const nodeOf = { 1: 'here', 2: 'here', 3: 'there' } as const;
type PodNumber = keyof typeof nodeOf;
const all: readonly PodNumber[] = [1, 2, 3];
const both = [{ name: '', protocol: 'TCP' as const, port: 8080 }, { name: '', protocol: 'UDP' as const, port: 8080 }];
const tcpAndUdp: ServiceSpec['ports'] = [{ port: 80, protocol: 'TCP', targetPort: 8080 }, { port: 80, protocol: 'UDP', targetPort: 8080 }];

whenPackets(describe)('packets to Services', () => {
  describe.each(['nftables', 'userspace'] as const)('forwarded by %s', (mode) => {
    const kernel = mode === 'nftables';
    let lab: PacketLab;
    let state: NetworkState;
    let proxy: ServiceProxy;
    let folder: string;
    let pod: Peer;
    let inEffect: ForwardingTable | undefined;

    const start = (): ServiceProxy => {
      const made = new ServiceProxy({ cluster: `lab-${lab.node}`, mode, state, folder, name: 'services', log, namespace: () => ({ path: lab.path }), localNodes: () => new Set(['here']), onTable: (table) => (inEffect = table) });
      inEffect = undefined;
      made.start();
      return made;
    };
    /** All that was told is in effect. */
    const settled = async (): Promise<void> => {
      await eventually(() => expect(inEffect).toEqual(forwardingTable(state, new Set(['here']))));
      expect(proxy.status).toEqual({ by: mode, problem: undefined });
    };
    const serve = async (name: string, spec: Partial<ServiceSpec>, pods: readonly PodNumber[] = all, balancers: readonly string[] = []): Promise<void> => {
      state.apply('ADDED', 'services', service(name, { ports: tcpAndUdp, ...spec }, balancers));
      endpoints(name, pods);
      await settled();
    };
    const endpoints = (name: string, pods: readonly PodNumber[]): void => state.apply('ADDED', slicesResource, slice(name, pods.map((pod) => endpoint(`10.244.0.${pod}`, nodeOf[pod])), { ports: both }));

    beforeAll(async () => {
      lab = await PacketLab.start();
      folder = mkdtempSync(join(tmpdir(), 'services-'));
      state = emptyState();
      state.apply('ADDED', 'nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'here', uid: 'here', resourceVersion: '1' }, spec: { podCIDRs: ['10.244.0.1/32', '10.244.0.2/32'] } });
      proxy = start();
      pod = lab.pods[0] as Peer;
      await settled();
    });
    afterAll(async () => {
      await proxy.remove();
      expect(lab.run('nft list ruleset')).toBe('');
      expect(lab.run('ip route show table local')).not.toContain('10.96');
      lab.stop();
      rmSync(folder, { recursive: true });
    });

    it('spreads connections over all endpoints', async () => {
      await serve('even', { clusterIP: '10.96.0.1' });
      const counts = tally(await pod.ask('tcp', '10.96.0.1', 80, 240));
      expect(Object.keys(counts).sort()).toEqual(['p1', 'p2', 'p3']);
      // 80 each: six standard deviations are 44.
      for (const count of Object.values(counts)) expect(Math.abs(count - 80)).toBeLessThan(44);
      // What it has no port for, and an address that no Service has, does not go and look for it elsewhere.
      for (const [client, protocol] of [[pod, 'tcp'], [pod, 'udp'], [lab.onNode, 'tcp']] as const) expect(await client.ask(protocol, '10.96.0.1', 81)).toEqual([refused]);
      for (const address of ['10.96.200.200', 'fd00:96::c8c8']) {
        for (const [client, protocol] of [[pod, 'tcp'], [pod, 'udp'], [lab.onNode, 'tcp']] as const) expect(await client.ask(protocol, address, 80)).toEqual([refused]);
      }
      const udp = tally(await pod.ask('udp', '10.96.0.1', 80, 60));
      expect(Object.keys(udp).sort()).toEqual(['p1', 'p2', 'p3']);
    });

    it('a pod reaches itself by the address of its Service', async () => {
      await serve('self', { clusterIP: '10.96.0.2' }, [1]);
      expect(tally(await pod.ask('tcp', '10.96.0.2', 80, 3))).toEqual({ p1: 3 });
      expect(tally(await pod.ask('udp', '10.96.0.2', 80, 3))).toEqual({ p1: 3 });
    });

    it('pods keep their address, others get that of the node; the node itself is served, too', async () => {
      await serve('source', { clusterIP: '10.96.0.3' }, [2]);
      const [fromPod] = await pod.ask('tcp', '10.96.0.3', 80);
      expect(fromPod).toBe(kernel ? 'p2 10.244.0.1' : 'p2 10.244.0.254');
      expect(tally(await lab.outside.ask('tcp', '10.96.0.3', 80))).toEqual({ p2: 1 });
      expect((await lab.outside.ask('tcp', '10.96.0.3', 80))[0]).not.toContain('192.0.2.2');
      expect(tally(await lab.onNode.ask('tcp', '10.96.0.3', 80, 2))).toEqual({ p2: 2 });
      expect(tally(await lab.onNode.ask('udp', '10.96.0.3', 80, 2))).toEqual({ p2: 2 });
    });

    it('answers on node ports, external and load balancer addresses', async () => {
      await serve('open', { clusterIP: '10.96.0.4', type: 'LoadBalancer', externalIPs: ['192.0.2.1'], ports: [{ ...tcpAndUdp[0], nodePort: 30_080 }, { ...tcpAndUdp[1], nodePort: 30_080 }] as never }, all, kernel ? ['198.51.100.1'] : []);
      for (const protocol of ['tcp', 'udp'] as const) {
        expect(Object.keys(tally(await lab.outside.ask(protocol, '192.0.2.1', 30_080, 60))).sort()).toEqual(['p1', 'p2', 'p3']);
        expect(tally(await lab.outside.ask(protocol, '192.0.2.1', 80, 2))).not.toHaveProperty(refused);
        expect(Object.values(tally(await pod.ask(protocol, '192.0.2.1', 30_080, 4))).reduce((a, b) => a + b)).toBe(4);
      }
      expect(Object.keys(tally(await lab.onNode.ask('tcp', '192.0.2.1', 30_080, 9)))).not.toContain(refused);
      if (kernel) expect(Object.keys(tally(await lab.outside.ask('tcp', '198.51.100.1', 80, 60))).sort()).toEqual(['p1', 'p2', 'p3']);
    });

    it('lets only the source ranges of a load balancer through', async () => {
      const address = kernel ? '198.51.100.2' : '192.0.2.1';
      const ports = [{ port: 81, protocol: 'TCP' as const, targetPort: 8080, nodePort: 30_081 }];
      await serve('fenced', { clusterIP: '10.96.0.5', type: 'LoadBalancer', ports, loadBalancerSourceRanges: ['203.0.113.0/24'] }, all, [address]);
      expect(tally(await lab.outside.ask('tcp', address, 81))).toEqual(kernel ? { timeout: 1 } : { ECONNRESET: 1 });
      await serve('fenced', { clusterIP: '10.96.0.5', type: 'LoadBalancer', ports, loadBalancerSourceRanges: ['203.0.113.0/24', '192.0.2.0/30'] }, all, [address]);
      expect(tally(await lab.outside.ask('tcp', address, 81, 2))).not.toHaveProperty('timeout');
    });

    it('internalTrafficPolicy Local: only endpoints of this node', async () => {
      await serve('near', { clusterIP: '10.96.0.6', internalTrafficPolicy: 'Local' });
      expect(Object.keys(tally(await pod.ask('tcp', '10.96.0.6', 80, 30))).sort()).toEqual(['p1', 'p2']);
      endpoints('near', [3]);
      await settled();
      expect(tally(await pod.ask('tcp', '10.96.0.6', 80))).toEqual(kernel ? { timeout: 1 } : { [refused]: 1 });
    });

    it('externalTrafficPolicy Local: only endpoints of this node, which see who it was; pods reach all', async () => {
      await serve('local', { clusterIP: '10.96.0.7', type: 'NodePort', externalTrafficPolicy: 'Local', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30_082 }] }, [2, 3]);
      const answers = await lab.outside.ask('tcp', '192.0.2.1', 30_082, 12);
      expect(tally(answers)).toEqual({ p2: 12 });
      if (kernel) expect(answers[0]).toBe('p2 192.0.2.2');
      expect(Object.keys(tally(await pod.ask('tcp', '192.0.2.1', 30_082, 30))).sort()).toEqual(['p2', 'p3']);
      // Of another node: answers of other endpoints would not pass here.
      if (kernel) expect(tally((await lab.pods[2]?.ask('tcp', '192.0.2.1', 30_082, 12)) ?? [])).toEqual({ p2: 12 });
      endpoints('local', [3]);
      await settled();
      expect(tally(await lab.outside.ask('tcp', '192.0.2.1', 30_082))).toEqual(kernel ? { timeout: 1 } : { ECONNRESET: 1 });
    });

    it('ClientIP affinity: a client keeps its endpoint, also through changes of others', async () => {
      await serve('sticky', { clusterIP: '10.96.0.8', sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } } });
      const mine = Object.keys(tally(await pod.ask('tcp', '10.96.0.8', 80, 25)));
      expect(mine).toHaveLength(1);
      const kept = Number(mine[0]?.slice(1)) as PodNumber;
      endpoints('sticky', [kept]);
      await settled();
      endpoints('sticky', all);
      await settled();
      expect(Object.keys(tally(await pod.ask('tcp', '10.96.0.8', 80, 25)))).toEqual(mine);
      endpoints('sticky', all.filter((number) => number !== kept));
      await settled();
      const next = Object.keys(tally(await pod.ask('tcp', '10.96.0.8', 80, 25)));
      expect(next).toHaveLength(1);
      expect(next).not.toEqual(mine);
    });

    it('refuses at once where there is no endpoint', async () => {
      await serve('nobody', { clusterIP: '10.96.0.9', type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30_083 }, { port: 80, protocol: 'UDP', targetPort: 8080 }] }, []);
      expect(await pod.ask('tcp', '10.96.0.9', 80)).toEqual([refused]);
      expect(await pod.ask('udp', '10.96.0.9', 80)).toEqual([refused]);
      expect(await lab.outside.ask('tcp', '192.0.2.1', 30_083)).toEqual([refused]);
      expect(await lab.onNode.ask('tcp', '10.96.0.9', 80)).toEqual([refused]);
    });

    it('a change of endpoints is effective at once; UDP flows to one that is gone are cut, others go on', async () => {
      await serve('moving', { clusterIP: '10.96.0.11', type: 'NodePort', ports: [tcpAndUdp[0], { ...tcpAndUdp[1], nodePort: 30_084 }] as never }, [2, 3]);
      const flows = 15;
      const before: string[] = [];
      for (let flow = 0; flow < flows; flow++) before.push(await pod.open(`flow ${flow}`, 'udp', '10.96.0.11', 80), await lab.outside.open(`flow ${flow}`, 'udp', '192.0.2.1', 30_084));
      expect(Object.keys(tally(before)).sort()).toEqual(['p2', 'p3']);
      // As it is told, not with the next look at all rules (30 s). How soon is a matter of the machine.
      const beganMs = performance.now();
      endpoints('moving', [3]);
      await settled();
      expect(performance.now() - beganMs).toBeLessThan(10_000);
      // So many that chance alone does not lead all of them there.
      await eventually(async () => expect(Object.keys(tally(await pod.ask('tcp', '10.96.0.11', 80, 30)))).toEqual(['p3']));
      const after = await Promise.all(
        before.map(async (first, index) => {
          const [peer, flow] = [index % 2 === 0 ? pod : lab.outside, `flow ${Math.floor(index / 2)}`];
          const answer = await peer.say(flow);
          // The datagram that shows that its endpoint is gone is lost, and no other.
          return first.startsWith('p2') && kernel ? peer.say(flow) : answer;
        }),
      );
      expect([before, after.map((answer) => answer.split(' ')[0])]).toEqual([before, after.map(() => 'p3')]);
    });

    it('connections in flight outlive the agent, and it serves on from where it was', async () => {
      await serve('long', { clusterIP: '10.96.0.12', sessionAffinity: 'ClientIP' });
      const kept = await pod.open('long', 'tcp', '10.96.0.12', 80);
      await proxy.publish('pod-with-port', [{ protocol: 'TCP', hostIP: '', hostPort: 8_090, address: '10.244.0.2', containerPort: 8081 }]);
      await proxy.stop();
      expect(await pod.say('long')).toBe(kept);
      expect(tally(await lab.outside.ask('tcp', '192.0.2.1', 8_090))).toEqual({ p2: 1 });
      proxy = start();
      await proxy.keepOnly(['pod-with-port']);
      await settled();
      expect(await pod.say('long')).toBe(kept);
      expect(await pod.ask('tcp', '10.96.0.12', 80, 5)).toEqual(Array(5).fill(kept));
      expect(tally(await lab.outside.ask('tcp', '192.0.2.1', 8_090, 2))).toEqual({ p2: 2 });
      expect(tally(await lab.pods[1]?.ask('tcp', '192.0.2.1', 8_090) ?? [])).toEqual({ p2: 1 });
      await proxy.release('pod-with-port');
      expect(await lab.outside.ask('tcp', '192.0.2.1', 8_090)).toEqual([refused]);
    });

    it('a Service that is gone is not answered any more', async () => {
      await serve('gone', { clusterIP: '10.96.0.13' });
      expect(tally(await pod.ask('tcp', '10.96.0.13', 80))).not.toHaveProperty(refused);
      state.apply('DELETED', 'services', { ...service('gone', {}) });
      await settled();
      expect(Object.keys(tally(await pod.ask('tcp', '10.96.0.13', 80)))).not.toContain('p1');
    });

    it('serves IPv6 beside IPv4', async () => {
      state.apply('ADDED', 'services', service('dual', { clusterIPs: ['10.96.0.14', 'fd00:96::14'], type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080, nodePort: 30_086 }, { port: 80, protocol: 'UDP', targetPort: 8080 }] }));
      state.apply('ADDED', slicesResource, slice('dual', all.map((number) => endpoint(`fd00:244::${number}`, nodeOf[number])), { name: 'dual-6', addressType: 'IPv6', ports: both }));
      await settled();
      expect(Object.keys(tally(await pod.ask('tcp', 'fd00:96::14', 80, 60))).sort()).toEqual(['p1', 'p2', 'p3']);
      expect(Object.keys(tally(await pod.ask('udp', 'fd00:96::14', 80, 60))).sort()).toEqual(['p1', 'p2', 'p3']);
      expect(Object.keys(tally(await lab.outside.ask('tcp', lab.nodeAddress6, 30_086, 60))).sort()).toEqual(['p1', 'p2', 'p3']);
      // No endpoint of that family.
      expect(await pod.ask('tcp', '10.96.0.14', 80)).toEqual([refused]);
    });
  });
});
