import { randomInt } from 'node:crypto';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { PodRuntime } from '@roundsman/containers';
import { ownNumber } from '@roundsman/testkit';
import { whenPackets } from '../../services/testing/packet-lab.ts';
import { here, runSteps } from '../kernel/steps.ts';
import { MachinePlace } from './machine-place.ts';
import type { NodeAddressing } from './node-place.ts';

whenPackets(describe)('a machine that is a node', () => {
  const second = ownNumber(200, 204);
  const [before, after] = [randomInt(128), 128 + randomInt(128)].map((third): NodeAddressing => ({
    nodeAddresses: [`10.${second}.${third}.1`, `fd00:${second}:${third}::1`],
    podCIDRs: [`10.${second}.${third}.0/28`, `fd00:${second}:${third}::/64`],
    mtu: 1_500,
  })) as [NodeAddressing, NodeAddressing];
  const nothing: NodeAddressing = { nodeAddresses: [], podCIDRs: [], mtu: 1_500 };
  const place = new MachinePlace({} as PodRuntime, { cluster: 'c', node: 'n1' });
  afterEach(() => place.ensure(nothing));

  /** What the machine has of a range: the node's address, and the refusal of pods that are not there. */
  async function partOf({ nodeAddresses, podCIDRs }: NodeAddressing): Promise<boolean[]> {
    const [addresses, routes] = await Promise.all(['ip -o addr show lo', 'ip route show type unreachable; ip -6 route show type unreachable'].map((script) => runSteps([{ in: here, script }])));
    return [...nodeAddresses.map((address) => addresses?.includes(` ${address}/`) === true), ...podCIDRs.map((range) => routes?.includes(`unreachable ${range} `) === true)];
  }

  it('has nothing of a range that is its node’s no more: another node may have it', async () => {
    await place.ensure(before);
    expect(await partOf(before)).toEqual([true, true, true, true]);
    await place.ensure(after);
    expect(await partOf(before)).toEqual([false, false, false, false]);
    expect(await partOf(after)).toEqual([true, true, true, true]);
  });
});
