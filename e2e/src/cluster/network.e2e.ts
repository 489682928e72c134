import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Node, Pod } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { kubectlPath } from '../kubectl-cluster.ts';
import { SmallCluster, steady } from './small-cluster.ts';

const run = promisify(execFile);
const within = { within: 60_000 };

/** HTTP at 8080 tells who asks, as soon as at 9000 comes back what is sent. */
const script = 'mkdir -p /tmp/www/cgi-bin; printf "#!/bin/sh\\necho; echo \\$REMOTE_ADDR" >/tmp/www/cgi-bin/from; chmod +x /tmp/www/cgi-bin/from; nc -ll -p 9000 -e cat & until netstat -ltn | grep -q :9000; do sleep 0.1; done; exec httpd -f -p 8080 -h /tmp/www';
const pod = (name: string, nodeName: string, spec: object = {}, container: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { nodeName, terminationGracePeriodSeconds: 0, containers: [{ name: 'main', image: 'busybox:1.36', command: ['sh', '-c', script], readinessProbe: { tcpSocket: { port: 8080 }, ...steady }, ...container }], ...spec },
});
const ask = (address: string): string[] => ['20', 'busybox', 'wget', '-qO-', `http://${address}:8080/cgi-bin/from`];

/** Without what busybox writes around an IPv4 address that came to a socket of both families. */
const plain = (text: string): string => text.trim().replace(/^\[::ffff:(.*)\]$/, '$1');

/** What the tests of all shapes of clusters ask. */
class Asker {
  constructor(readonly cluster: SmallCluster) {}

  pod(name: string): Promise<Pod> {
    return this.cluster.get<Pod>('pod', name);
  }
  async address(name: string): Promise<string> {
    return (await this.pod(name)).status?.podIP ?? '';
  }
  node(name: string): Promise<Node> {
    return this.cluster.get<Node>('node', name);
  }
  async ready(...names: string[]): Promise<void> {
    await this.cluster.must(['wait', '--for=condition=Ready', '--timeout=60s', ...names.map((name) => `pod/${name}`)], { timeoutMs: 70_000 });
  }
  /** Whom `to` sees when `from` asks. */
  async seen(from: string, to: string): Promise<string> {
    return plain(await this.cluster.must(['exec', from, '--', 'timeout', '5', 'wget', '-qO-', `http://${to}:8080/cgi-bin/from`]));
  }
}

/** An open connection to a pod's echo. */
async function conversation(host: string): Promise<{ socket: Socket; say(text: string): Promise<string> }> {
  const socket = connect({ host, port: 9000 });
  await once(socket, 'connect');
  return {
    socket,
    say: async (text) => {
      socket.write(text);
      const [heard] = (await once(socket, 'data', { signal: AbortSignal.timeout(20_000) })) as [Buffer];
      return heard.toString();
    },
  };
}

whenDocker(describe)('the pod network of nodes that share a machine', () => {
  let cluster: SmallCluster;
  let asker: Asker;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two']);
    asker = new Asker(cluster);
    await cluster.apply(pod('a', 'one'), pod('b', 'one'), pod('c', 'two'), pod('host', 'two', { hostNetwork: true }));
    await asker.ready('a', 'b', 'c', 'host');
  });
  afterAll(() => cluster?.stop());

  it('pods have addresses of their node’s range, and see each other’s on the same and on other nodes', async () => {
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => asker.address(name)));
    const ranges = await Promise.all(['one', 'two'].map(async (name) => (await asker.node(name)).spec?.podCIDR ?? ''));
    expect(new Set(ranges).size).toBe(2);
    const prefix = (range: string | undefined): string => (range ?? '').replace(/0\/24$/, '');
    expect([a, b, c]).toEqual([0, 0, 1].map((index) => expect.stringContaining(prefix(ranges[index])) as unknown));
    expect(await asker.seen('a', b!)).toBe(a);
    expect(await asker.seen('a', c!)).toBe(a);
    expect(await asker.seen('c', a!)).toBe(c);
    expect(await asker.seen('a', a!)).toBe(a);
  });

  it('a node has the first address of its range; pods on its network have it too, and its ports', async () => {
    const node = await asker.node('two');
    const address = (node.spec?.podCIDR ?? '').replace('.0/24', '.1');
    expect(node.status?.addresses).toContainEqual({ type: 'InternalIP', address });
    expect(node.metadata.annotations).toMatchObject({ 'roundsman.io/network-mode': 'namespace', 'roundsman.io/machine-address': cluster.docker.gateway });
    expect(node.status?.conditions).toContainEqual(expect.objectContaining({ type: 'NetworkUnavailable', status: 'False', reason: 'RouteCreated' }));
    expect((await asker.pod('host')).status).toMatchObject({ podIP: address, hostIP: address });
    expect(await asker.seen('a', address)).toBe(await asker.address('a'));
    expect(await asker.seen('host', await asker.address('c'))).toBe(address);
    expect(await asker.seen('host', await asker.address('a'))).toBe(address);
  });

  it('the machine reaches pods and nodes', async () => {
    for (const to of [await asker.address('a'), await asker.address('c'), await asker.address('host')]) {
      expect(plain((await run('timeout', ask(to))).stdout)).toBe(cluster.docker.gateway);
    }
  });

  it('addresses and connections outlive the agents; the next ones make nothing anew', async () => {
    const before = await Promise.all(['a', 'c'].map((name) => asker.pod(name)));
    const open = await conversation(before[1]?.status?.podIP ?? '');
    expect(await open.say('one')).toBe('one');
    await cluster.kill(['agent-one', 'agent-two']);
    expect(await open.say('two')).toBe('two');
    const addresses = await run(kubectlPath(), ['--kubeconfig', `${cluster.folder}/kubeconfig`, 'get', 'node', 'one', '-o', 'jsonpath={.status.addresses}']);
    const told = spawn(kubectlPath(), ['--kubeconfig', `${cluster.folder}/kubeconfig`, 'get', 'node', 'one', '-w', '-o', 'jsonpath={.status.addresses}{"\\n"}'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const seen = new Set<string>();
    createInterface({ input: told.stdout }).on('line', (line) => seen.add(line));
    await eventually(() => expect(seen.size).toBeGreaterThan(0));
    cluster.restart(['agent-one', 'agent-two']);
    await cluster.apply(pod('d', 'one'));
    await asker.ready('d');
    expect(await open.say('three')).toBe('three');
    open.socket.destroy();
    told.kill();
    // Not even for a moment another one.
    expect([...seen]).toEqual([addresses.stdout]);
    const after = await Promise.all(['a', 'c'].map((name) => asker.pod(name)));
    expect(after.map(({ status }) => [status?.podIP, status?.containerStatuses?.[0]?.restartCount])).toEqual(before.map(({ status }) => [status?.podIP, 0]));
    expect(before.map(({ status }) => status?.podIP)).not.toContain(await asker.address('d'));
    expect(await asker.seen('a', await asker.address('d'))).toBe(await asker.address('a'));
  });

  it('a pod whose sandbox dies is made anew with the address it had', async () => {
    const before = await asker.pod('c');
    const [pause] = (await cluster.docker.request('GET', `/containers/json?filters=${encodeURIComponent(JSON.stringify({ label: [`io.kubernetes.pod.uid=${before.metadata.uid}`, 'io.kubernetes.docker.type=podsandbox'] }))}`)) as { Id: string }[];
    await cluster.docker.request('POST', `/containers/${pause?.Id}/kill`);
    await eventually(async () => expect((await asker.pod('c')).status?.containerStatuses?.[0]).toMatchObject({ restartCount: 1, ready: true }), within);
    expect(await asker.address('c')).toBe(before.status?.podIP);
    expect(await eventually(() => asker.seen('a', before.status?.podIP ?? ''), within)).toBe(await asker.address('a'));
  });

  it('a node whose own sandbox dies gets another one, and its pods go on', async () => {
    const before = await asker.pod('a');
    const [pause] = (await cluster.docker.request('GET', `/containers/json?filters=${encodeURIComponent(JSON.stringify({ label: [`io.kubernetes.pod.uid=node.${cluster.id}.one`] }))}`)) as { Id: string }[];
    await cluster.docker.request('POST', `/containers/${pause?.Id}/kill`);
    expect(await eventually(() => asker.seen('c', before.status?.podIP ?? ''), within)).toBe(await asker.address('c'));
    expect((await asker.pod('a')).status?.containerStatuses?.[0]?.restartCount).toBe(0);
    await cluster.apply(pod('host-one', 'one', { hostNetwork: true }));
    await asker.ready('host-one');
    expect(await asker.seen('c', await asker.address('host-one'))).toBe(await asker.address('c'));
  });

  it('a node whose link is down cannot be reached, and can when it is up again', async () => {
    const to = await asker.address('c');
    const { stdout } = await run('ip', ['-j', 'link', 'show']);
    const link = (JSON.parse(stdout) as { ifname: string; ifalias?: string }[]).find(({ ifalias }) => ifalias === `roundsman:${cluster.id}:two:node`)?.ifname ?? '';
    await run('ip', ['link', 'set', link, 'down']);
    await expect(asker.seen('a', to)).rejects.toThrow('ended with');
    await run('ip', ['link', 'set', link, 'up']);
    expect(await eventually(() => asker.seen('a', to), within)).toBe(await asker.address('a'));
  });

  it('nothing is left: no links of pods that are gone, and nothing of the cluster when it is', async () => {
    await cluster.must(['delete', 'pods', '--all', '--wait=true'], { timeoutMs: 60_000 });
    const own = async (): Promise<string[]> => {
      const all = await Promise.all([run('ip', ['-d', 'link', 'show']), run('ip', ['route', 'show', 'table', 'all']), run('nft', ['list', 'ruleset']), run('ip', ['addr', 'show', 'dev', 'lo'])]);
      const [first = '', second = '', third = ''] = cluster.ranges.pods.split('.');
      // Of the /20 and no more: others on this machine have ranges beside it.
      const inside = Array.from({ length: 16 }, (_, index) => ` ${first}.${second}.${Number(third) + index}.`);
      return all.flatMap(({ stdout }) => stdout.split('\n').filter((line) => line.includes(cluster.id) || inside.some((prefix) => ` ${line}`.includes(prefix))));
    };
    await eventually(async () => {
      const links = (await own()).filter((line) => line.includes('alias roundsman')).map((line) => line.trim());
      expect(links.sort()).toEqual([`alias roundsman:${cluster.id}:one:node`, `alias roundsman:${cluster.id}:two:node`]);
    });
    await cluster.stop();
    // The kernel takes links and routes of a namespace away a moment after its last process.
    await eventually(async () => expect(await own()).toEqual([]));
  });
});

whenDocker(describe)('the pod network of machines', () => {
  let cluster: SmallCluster;
  let asker: Asker;
  beforeAll(async () => {
    cluster = await SmallCluster.start(['one', 'two'], { machines: true });
    asker = new Asker(cluster);
    await cluster.apply(pod('a', 'one'), pod('b', 'one'), pod('c', 'two'), pod('host', 'two', { hostNetwork: true }));
    await asker.ready('a', 'b', 'c', 'host');
  });
  afterAll(() => cluster?.stop());

  const reach = async (): Promise<void> => {
    const [a, c] = await Promise.all(['a', 'c'].map((name) => asker.address(name)));
    expect(await eventually(() => asker.seen('a', c!), within)).toBe(a);
    expect(await eventually(() => asker.seen('c', a!), within)).toBe(c);
    // Not in one packet.
    const said = await cluster.must(['exec', 'a', '--', 'sh', '-c', `head -c 300000 /dev/zero | timeout 30 nc ${c} 9000 | head -c 300000 | wc -c`]);
    expect(said.trim()).toBe('300000');
  };

  it('pods see each other’s addresses over routes (host-gw)', async () => {
    await reach();
    expect(await cluster.machine('one').run('ip', 'route')).toContain(`via ${cluster.machine('two').address} dev eth0`);
  });

  it('machines and their pods reach each other', async () => {
    const [one, two] = [cluster.machine('one'), cluster.machine('two')];
    expect((await asker.node('two')).status?.addresses).toContainEqual({ type: 'InternalIP', address: two.address });
    expect(await asker.address('host')).toBe(two.address);
    expect(await asker.seen('a', two.address)).toBe(await asker.address('a'));
    expect(plain(await one.run('timeout', ...ask(await asker.address('c'))))).toBe(one.address);
  });

  it('what leaves the cluster has the address of its machine', async () => {
    const { outside } = cluster.network!;
    const server = outside.run('timeout', '60', 'busybox', 'nc', '-l', '-p', '7000', '-e', 'sh', '-c', 'cat /proc/net/tcp /proc/net/tcp6');
    server.catch(() => undefined);
    const said = await cluster.must(['exec', 'a', '--', 'sh', '-c', `for i in $(seq 100); do timeout 20 nc ${outside.address} 7000 </dev/null && exit 0; sleep 0.2; done; exit 1`]);
    // As /proc writes an address: bytes in reverse.
    const hex = (address: string): string => address.split('.').reverse().map((byte) => Number(byte).toString(16).padStart(2, '0')).join('').toUpperCase();
    expect(said).toContain(hex(cluster.machine('one').address));
    expect(said).not.toContain(hex(await asker.address('a')));
  });

  it('a cable that is pulled parts them, and no longer than that', async () => {
    const [a, c] = await Promise.all(['a', 'c'].map((name) => asker.address(name)));
    await cluster.machine('two').cut();
    await expect(asker.seen('a', c!)).rejects.toThrow('ended with');
    await cluster.machine('two').heal();
    expect(await eventually(() => asker.seen('a', c!), within)).toBe(a);
  });

  it('and over VXLAN, when the setting is changed', async () => {
    await cluster.change('intake', { ROUNDSMAN_INTAKE_NETWORK_BACKEND: 'vxlan' });
    await eventually(async () => expect(await cluster.machine('one').run('ip', 'route')).toMatch(/dev rv\w+ .*onlink/), { within: 60_000 });
    await eventually(async () => expect(await cluster.machine('two').run('ip', 'route')).toMatch(/dev rv\w+ .*onlink/), { within: 60_000 });
    expect(await cluster.machine('one').run('ip', 'route')).not.toContain(`via ${cluster.machine('two').address} dev eth0`);
    await reach();
    // The machine has an address among those of its pods: answers come by the way that the questions went.
    expect(plain(await cluster.machine('one').run('timeout', ...ask(await asker.address('c'))))).toBe((await asker.node('one')).spec?.podCIDR?.replace('/24', ''));
  });

  it('nobody looks for the pods of a node that was taken out', async () => {
    const range = (await asker.node('two')).spec?.podCIDR ?? '';
    expect(await cluster.machine('one').run('ip', 'route')).toContain(range);
    await cluster.kill(['agent-two']);
    await cluster.must(['delete', 'node', 'two']);
    await eventually(async () => expect(await cluster.machine('one').run('ip', 'route')).not.toContain(range), within);
  });
});
