import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort, whenDocker } from '@roundsman/testkit';
import { nodeSandboxUid } from '../pod-runtime.ts';
import { PodLab } from './testing/pod-lab.ts';
import { containerOf, forEver, sandboxOf } from './testing/pods.ts';

whenDocker(describe)('sandboxes on Docker', () => {
  let lab: PodLab;
  beforeAll(async () => {
    lab = await PodLab.start();
  });
  afterAll(() => lab?.stop());

  it('is one per pod, has an address, and goes with everything in it', async () => {
    const network = await lab.network(20);
    const [spec, sandbox] = await lab.pod({ network });
    expect(sandbox).toMatchObject({ podUid: spec.podUid, running: true, network, addresses: network.addresses });
    expect(await lab.outcome('ip -4 -o addr show eth0', {}, { network: await lab.network(21) })).toMatchObject({ printed: expect.stringContaining((await lab.network(21)).addresses[0] ?? '') as unknown });
    expect(await lab.runtime.startSandbox(spec)).toEqual(sandbox);
    await lab.runtime.startContainer(containerOf(spec, sandbox.id, forEver));
    await lab.runtime.removePod(spec.podUid);
    expect(await lab.runtime.pods()).toEqual([]);
    await lab.runtime.removePod(spec.podUid);
  });

  it('is started again when it has ended', async () => {
    const [spec, sandbox] = await lab.pod();
    await lab.docker.request('POST', `/containers/${sandbox.id}/kill`);
    // The daemon's list is brought up to date a moment after the end.
    await eventually(async () => expect((await lab.runtime.pods())[0]?.sandbox?.running).toBe(false));
    expect(await lab.runtime.startSandbox(spec)).toMatchObject({ id: sandbox.id, running: true });
    await lab.runtime.removePod(spec.podUid);
  });

  it('has nothing but loopback where others connect it, and remembers its addresses when it has ended, too', async () => {
    const network = { kind: 'none' as const, addresses: ['10.1.2.3', 'fd00::3'] };
    const [spec, sandbox] = await lab.pod({ network });
    expect(sandbox).toMatchObject({ network, addresses: network.addresses, pid: expect.any(Number) as unknown });
    const { printed } = await lab.outcome('ls /sys/class/net; wget -qO- http://127.0.0.1:1 2>&1', {}, { network });
    expect(printed).toMatch(/^lo\n.*refused/);
    await lab.docker.request('POST', `/containers/${sandbox.id}/kill`);
    await eventually(async () => expect((await lab.runtime.pods())[0]?.sandbox).toMatchObject({ running: false, network, addresses: network.addresses }));
    // With other addresses it is another one.
    const other = await lab.runtime.startSandbox({ ...spec, network: { kind: 'none', addresses: ['10.1.2.4'] } });
    expect(other).toMatchObject({ running: true, addresses: ['10.1.2.4'] });
    expect(other.id).not.toBe(sandbox.id);
    await lab.runtime.removePod(spec.podUid);
  });

  it('may join that of its node, which is no pod', async () => {
    const podUid = nodeSandboxUid({ cluster: 'home', node: 'node-1' });
    const node = await lab.runtime.startSandbox(sandboxOf({ podUid, hostname: 'node-1' }));
    expect(await lab.runtime.pods()).toEqual([]);
    expect(await lab.runtime.sandbox(podUid)).toEqual(node);
    const { printed } = await lab.outcome('readlink /proc/self/ns/net; hostname', {}, { network: { kind: 'sandbox', id: node.id } });
    expect(printed).toBe(`${readlinkSync(`/proc/${node.pid}/ns/net`)}\nnode-1\n`);
    await lab.runtime.removePod(podUid);
    expect(await lab.runtime.sandbox(podUid)).toBeUndefined();
  });

  it('gives its containers one network, one hostname and one /etc/hosts', async () => {
    const [spec, sandbox] = await lab.pod({
      hostname: 'named',
      extraHosts: ['db.local:10.9.8.7'],
      sysctls: { 'net.ipv4.ip_local_port_range': '40000 41000' },
    });
    await lab.runtime.startContainer(containerOf(spec, sandbox.id, 'echo hello > /tmp/index.html; exec httpd -f -p 8080 -h /tmp', { name: 'server' }));
    const client = await lab.runtime.startContainer(
      containerOf(spec, sandbox.id, 'until wget -qO- http://localhost:8080/index.html; do sleep 0.1; done; hostname; cat /etc/hosts /proc/sys/net/ipv4/ip_local_port_range', { name: 'client' }),
    );
    const printed = await lab.output(client.id);
    expect(printed).toMatch(/^hello$/m);
    expect(printed).toMatch(/^named$/m);
    expect(printed).toMatch(/^10\.9\.8\.7\s+db\.local$/m);
    expect(printed).toMatch(/40000\s+41000/);
    await lab.runtime.removePod(spec.podUid);
  });

  it('binds host ports, and says which one is taken', async () => {
    const port = await freePort();
    const ports = [{ containerPort: 8080, protocol: 'TCP' as const, hostPort: port, hostIP: '' }];
    const [spec, sandbox] = await lab.pod({ ports, network: await lab.network(22) });
    await lab.runtime.startContainer(containerOf(spec, sandbox.id, 'echo hello > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'));
    expect(await eventually(() => fetch(`http://127.0.0.1:${port}/index.html`).then((response) => response.text()))).toBe('hello\n');
    const second = sandboxOf({ ports, network: await lab.network(23) });
    await expect(lab.runtime.startSandbox(second)).rejects.toMatchObject({ code: 'PortInUse', message: expect.stringContaining(`host port ${port}/TCP is already in use on this node`) as unknown as string });
    expect((await lab.runtime.pods()).map(({ podUid }) => podUid)).toEqual([spec.podUid]);
    await lab.runtime.removePod(spec.podUid);
  });

  it('says the same of a port that any program of the machine holds', async () => {
    const server = createServer().listen(0, '0.0.0.0');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const spec = sandboxOf({ ports: [{ containerPort: 80, protocol: 'TCP', hostPort: port, hostIP: '' }], network: await lab.network(24) });
    await expect(lab.runtime.startSandbox(spec)).rejects.toMatchObject({ code: 'PortInUse', message: expect.stringContaining(`host port ${port}/TCP is already in use on this node`) as unknown });
    expect(await lab.runtime.pods()).toEqual([]);
    server.close();
    await once(server, 'close');
    expect(await lab.runtime.startSandbox(spec)).toMatchObject({ running: true });
    await lab.runtime.removePod(spec.podUid);
  });

  it('may share the host’s network and processes, or those of its own containers', async () => {
    const host = await lab.outcome('readlink /proc/self/ns/net; cat /proc/1/comm', {}, { network: { kind: 'host' }, hostPID: true });
    expect(host.printed).toBe(`${readlinkSync('/proc/self/ns/net')}\n${readFileSync('/proc/1/comm', 'utf8')}`);
    const shared = await lab.outcome('cat /proc/1/cmdline', {}, { shareProcessNamespace: true });
    expect(shared.printed).toContain('/pause');
    const own = await lab.outcome('cat /proc/1/cmdline');
    expect(own.printed).toContain('/proc/1/cmdline');
  });

  it('clears away the zombies of a shared process namespace', async () => {
    const script = '(sleep 0.05 &) ; (sleep 0.05 &); sleep 0.4; ps | grep -c "\\[sleep\\]"';
    expect((await lab.outcome(script, {}, { shareProcessNamespace: true })).printed).toBe('0\n');
  });
});
