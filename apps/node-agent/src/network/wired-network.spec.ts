import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod } from '@roundsman/api';
import { FakePodRuntime, type Sandbox, type SandboxSpec } from '@roundsman/containers';
import { eventually, ownNumber } from '@roundsman/testkit';
import { pino } from 'pino';
import { sandboxSpec } from '../containers/sandbox-spec.ts';
import { whenPackets } from '../services/testing/packet-lab.ts';
import { networkStateOf } from '../testing/memory-network.ts';
import { podOf } from '../testing/runs.ts';
import { here, runSteps } from './kernel/steps.ts';
import { NamespacePlace } from './place/namespace-place.ts';
import { WiredNetwork } from './wired-network.ts';
import { nodeLinkName } from './wiring/node-link.ts';

/** Sandboxes are processes with a network namespace, and nothing else; one that is made anew takes the place of the one before. */
class NamespaceRuntime extends FakePodRuntime {
  /** By pod. */
  readonly #keepers = new Map<string, { readonly sandbox: string; readonly process: ChildProcess }>();

  override async startSandbox(spec: SandboxSpec): Promise<Sandbox> {
    const sandbox = await super.startSandbox(spec);
    const kept = this.#keepers.get(spec.podUid);
    if (kept?.sandbox === sandbox.id) return { ...sandbox, pid: kept.process.pid };
    kept?.process.kill('SIGKILL');
    const keeper = spawn('unshare', ['--net', '--', 'sleep', '600'], { stdio: 'ignore' });
    this.#keepers.set(spec.podUid, { sandbox: sandbox.id, process: keeper });
    await eventually(() => expect(readlinkSync(`/proc/${keeper.pid}/ns/net`)).not.toBe(readlinkSync('/proc/self/ns/net')));
    return { ...sandbox, pid: keeper.pid };
  }

  endAll(): void {
    for (const { process } of this.#keepers.values()) process.kill('SIGKILL');
  }
}

whenPackets(describe)('the network of a node with a namespace of its own', () => {
  const owner = { cluster: randomBytes(4).toString('hex'), node: 'n1' };
  const [before, after] = [0, 128].map((third) => `10.${ownNumber(200, 204)}.${third + randomInt(128)}.0/28`) as [string, string];
  const addressOf = (range: string, place: number): string => range.replace('.0/28', `.${place}`);
  let runtime: NamespaceRuntime;
  let network: WiredNetwork;
  beforeEach(() => {
    runtime = new NamespaceRuntime();
  });
  afterEach(async () => {
    await network.stop();
    await runSteps([{ in: here, script: `ip link del ${nodeLinkName(owner)} 2>/dev/null || :` }]);
    runtime.endAll();
  });

  it('that is registered again with another range has another place, where its pods no longer fit, and new ones do', async () => {
    const state = networkStateOf([before], owner.node);
    network = new WiredNetwork({ mode: 'namespace', owner, runtime, state, place: new NamespacePlace(runtime, owner, []), machineAddresses: [], lacking: undefined, log: pino({ level: 'silent' }) });
    await network.adopt([]);
    await network.start();
    const [pod, other] = ['web', 'other'].map((uid): Pod => {
      const made = podOf({ containers: [{ name: 'main', image: 'busybox:1.35' }] });
      return { ...made, metadata: { ...made.metadata, uid } };
    }) as [Pod, Pod];
    const start = async (of: Pod): Promise<Sandbox> => {
      const sandbox = await runtime.startSandbox(sandboxSpec(of, await network.plan(of), 'cluster.local'));
      await network.connect(of, sandbox);
      return sandbox;
    };
    const sandbox = await start(pod);
    const place = network.place?.path;
    expect([sandbox.addresses, network.fits(pod, sandbox), network.nodeAddresses]).toEqual([[addressOf(before, 2)], true, [addressOf(before, 1)]]);
    let fits: boolean | undefined;
    network.onReady(() => (fits = network.fits(pod, sandbox)));
    const node = state.node(owner.node);
    state.apply('DELETED', 'nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: owner.node, uid: owner.node, resourceVersion: '2' } } as never);
    await eventually(() => expect(network.problem()).toBe(`node ${owner.node} has no pod CIDR yet`));
    expect([node?.podCIDRs, fits]).toEqual([[before], undefined]);
    state.apply('ADDED', 'nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: owner.node, uid: 'again', resourceVersion: '3' }, spec: { podCIDRs: [after] } } as never);
    await eventually(() => expect(fits).toBe(false));
    expect(network.place?.path).not.toBe(place);
    expect([network.problem(), network.nodeAddresses]).toEqual([undefined, [addressOf(after, 1)]]);
    const late = await start(other);
    expect([late.addresses, network.fits(other, late)]).toEqual([[addressOf(after, 2)], true]);
    const routes = await runSteps([{ in: here, script: `ip route show ${after}; ip route show ${before}` }]);
    expect(routes.trim().split('\n')).toEqual([expect.stringContaining(`${after} via ${addressOf(after, 1)} dev ${nodeLinkName(owner)}`)]);
  });
});
