import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PodRuntime } from '@roundsman/containers';
import { eventually, ownNumber } from '@roundsman/testkit';
import { whenPackets } from '../../services/testing/packet-lab.ts';
import { gatewayMac } from '../kernel/links.ts';
import { here, namespaceOf, runSteps } from '../kernel/steps.ts';
import { nodeLinkName } from '../wiring/node-link.ts';
import { NamespacePlace } from './namespace-place.ts';

whenPackets(describe)('the namespace of a node', () => {
  const owner = { cluster: randomBytes(4).toString('hex'), node: 'n1' };
  const range = `10.${ownNumber(200, 204)}.${randomInt(256)}.0/28`;
  const address = range.replace('.0/28', '.1');
  let keeper: ChildProcess;
  let place: NamespacePlace;
  beforeEach(async () => {
    keeper = spawn('unshare', ['--net', '--', 'sleep', '600'], { stdio: 'ignore' });
    await eventually(() => expect(readlinkSync(`/proc/${keeper.pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net')));
    const sandbox = { id: 's', podUid: 'n', running: true, pid: keeper.pid, addresses: [address] };
    place = new NamespacePlace({ startSandbox: () => Promise.resolve(sandbox) } as unknown as PodRuntime, owner, []);
  });
  afterEach(async () => {
    await runSteps([{ in: here, script: `ip link del ${nodeLinkName(owner)} 2>/dev/null || :` }]);
    keeper.kill('SIGKILL');
  });
  const inside = (script: string): Promise<string> => runSteps([{ in: namespaceOf(keeper.pid ?? 0), script }]);
  const ensure = () => place.ensure({ nodeAddresses: [address], podCIDRs: [range], mtu: 1500 });

  it('is joined to the machine, also where an agent before came only half the way', async () => {
    await runSteps([{ in: here, script: `ip link add ${nodeLinkName(owner)} address ${gatewayMac} type veth peer name eth0 netns ${keeper.pid}; ip link set ${nodeLinkName(owner)} up` }]);
    await ensure();
    expect(await inside('ip route show default')).toContain(`via 169.254.1.1 dev eth0 src ${address}`);
    expect(await inside('cat /proc/sys/net/ipv4/conf/all/send_redirects /proc/sys/net/ipv4/conf/eth0/send_redirects')).toBe('0\n0\n');
    await expect(once(connect(1, address), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('is cut off as long as somebody has set its link down, and no longer', async () => {
    await ensure();
    await runSteps([{ in: here, script: `ip link set ${nodeLinkName(owner)} down` }]);
    await expect(ensure()).rejects.toThrow();
    expect(await runSteps([{ in: here, script: `ip link show ${nodeLinkName(owner)}` }])).toContain('state DOWN');
    await runSteps([{ in: here, script: `ip link set ${nodeLinkName(owner)} up` }]);
    await ensure();
    await expect(once(connect(1, address), 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
