import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { ClusterError, openCluster, resources, type Cluster, type ClusterResource, type Followed } from '@roundsman/cluster';
import { eventually } from '@roundsman/testkit';
import { kubectlPath } from '../kubectl-cluster.ts';
import { ownGateway, readKubeconfig, realKubernetes, type ApiServer } from './servers.ts';
import { Wire } from './wire.ts';

/** By hand also against a real kube-apiserver: `ROUNDSMAN_REAL_KUBERNETES=1 pnpm jest e2e/src/cluster-client`; it is built the first time. */
const servers = process.env['ROUNDSMAN_REAL_KUBERNETES'] ? [{ name: 'a real kube-apiserver', start: realKubernetes }] : [{ name: 'the own gateway', start: ownGateway }];

type ConfigMap = KubeObject & { data: Record<string, string> };
const configMaps: ClusterResource = { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const configMap = (name: string, data: Record<string, string>, labels: Record<string, string> = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', labels }, data });

async function sixteenAtOnce(names: readonly string[], act: (name: string) => Promise<unknown>): Promise<void> {
  const left = [...names];
  await Promise.all(Array.from({ length: 16 }, async () => {
    for (let name = left.pop(); name !== undefined; name = left.pop()) await act(name);
  }));
}

describe.each(servers)('the client of a Kubernetes API, before $name', ({ start }) => {
  let server: ApiServer;
  let wire: Wire;
  /** By the wire; by the server's own address. */
  let cluster: Cluster;
  let direct: Cluster;
  const opened: Cluster[] = [];
  let test = 0;
  /** Of this test alone. */
  let label: string;

  /** `patienceMs`: for how long a server may say nothing. */
  const open = (kubeconfig: string, patienceMs = 30_000): Cluster => {
    const one = openCluster({ kubeconfig, userAgent: 'roundsman-test', answerMs: patienceMs, followTimes: { silentMs: patienceMs, maxRetryMs: 500, staleMs: 500 } });
    opened.push(one);
    return one;
  };
  const variant = (name: string, change: (config: ReturnType<typeof readKubeconfig>) => void): string => {
    const config = readKubeconfig(server.kubeconfig);
    change(config);
    const file = join(server.folder, name);
    writeFileSync(file, JSON.stringify(config));
    return file;
  };
  const serverUrl = (): URL => new URL(readKubeconfig(server.kubeconfig).clusters[0]?.cluster.server ?? '');
  const throughWire = (): string => variant('through-wire', ({ clusters: [one] }) => void (one!.cluster.server = `https://127.0.0.1:${wire.port}`));
  const kubectl = (...args: string[]): Promise<unknown> => promisify(execFile)(kubectlPath(), ['--kubeconfig', server.kubeconfig, ...args], { env: { ...process.env, HOME: server.folder } });
  const apply = (by: Cluster, name: string, data: Record<string, string>): Promise<ConfigMap> => by.apply<ConfigMap>(configMap(name, data, { test: label }));
  const follow = (): { followed: Followed<ConfigMap>; seen: string[] } => {
    const followed = cluster.follow<ConfigMap>(configMaps, { namespace: 'default', labelSelector: `test=${label}` });
    const seen: string[] = [];
    followed.onChange(({ type, object }) => seen.push(`${type} ${object.metadata.name} ${object.data['x']}`));
    return { followed, seen };
  };

  beforeAll(async () => {
    server = await start();
    wire = await Wire.before(serverUrl);
  }, 900_000);
  afterAll(async () => {
    await wire?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    label = `t${(test += 1)}`;
    [cluster, direct] = [open(throughWire()), open(server.kubeconfig)];
  });
  afterEach(() => {
    for (const one of opened.splice(0)) one.close();
    wire.mend();
  });

  it('applies: the same twice changes nothing, conflicts are taken over, what is not said any more goes', async () => {
    const made = await apply(cluster, 'a', { x: '1', y: '1' });
    expect((await apply(cluster, 'a', { x: '1', y: '1' })).metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    const theirs = join(server.folder, 'theirs.json');
    writeFileSync(theirs, JSON.stringify(configMap('a', { x: '2', z: '2' })));
    await kubectl('apply', '--server-side', '--force-conflicts', '--field-manager=somebody', '-f', theirs);
    const { data, metadata } = await apply(cluster, 'a', { x: '3' });
    expect(data).toEqual({ x: '3', z: '2' });
    expect(metadata.managedFields?.map(({ manager }) => manager).sort()).toEqual(['roundsman', 'somebody']);
  });

  it('deletes by identity: not what has another uid', async () => {
    const { metadata } = await apply(cluster, 'b', { x: '1' });
    await cluster.delete(configMaps, 'default', 'b', { uid: crypto.randomUUID() });
    expect((await cluster.get(configMaps, 'default', 'b'))?.metadata.uid).toBe(metadata.uid);
    await cluster.delete(configMaps, 'default', 'b', { uid: metadata.uid, propagationPolicy: 'Background' });
    expect(await cluster.get(configMaps, 'default', 'b')).toBeUndefined();
    await cluster.delete(configMaps, 'default', 'b');
  });

  it('says in the words of the server what it refuses, and knows what that serves', async () => {
    const wrong = await cluster.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'wrong', namespace: 'default' }, spec: { ports: [{ port: 99999 }] } }).catch((error: unknown) => error);
    expect(wrong).toBeInstanceOf(ClusterError);
    expect(wrong).toMatchObject({ code: 422, reason: 'Invalid', message: expect.stringMatching(/^Service "wrong" is invalid: .*spec.ports\[0\].port: Invalid value: 99999/) });
    await expect(cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'nowhere' } })).rejects.toMatchObject({ code: 404, message: 'namespaces "nowhere" not found' });
    await expect(cluster.apply({ apiVersion: 'v1', kind: 'Nothing', metadata: { name: 'x' } })).rejects.toMatchObject({ code: 404 });
    expect([await cluster.serves('apps/v1'), await cluster.serves('apps/v0')]).toEqual([true, false]);
    expect((await cluster.list(resources.namespaces)).map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toContain('Namespace default');
    expect((await cluster.list(resources.namespaces, { fields: { 'metadata.name': 'default' } })).map(({ metadata }) => metadata.name)).toEqual(['default']);
  });

  it('is not let in with a bad token, and speaks to nobody whose certificate it does not know', async () => {
    const stranger = open(variant('bad-token', ({ users: [one] }) => void (one!.user = { token: 'wrong' })));
    await expect(stranger.list(configMaps)).rejects.toMatchObject({ code: 401, reason: 'Unauthorized' });
    const followed = stranger.follow(configMaps);
    await eventually(() => expect(followed.problem()).toBe('configmaps are not listed yet: Unauthorized'));
    const [key, certificate] = ['wrong.key', 'wrong.crt'].map((name) => join(server.folder, name)) as [string, string];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', certificate, '-days', '1', '-subj', '/CN=wrong'], { stdio: 'ignore' });
    const deceived = open(variant('wrong-ca', ({ clusters: [one] }) => void (one!.cluster = { server: one!.cluster.server, 'certificate-authority-data': readFileSync(certificate).toString('base64') })));
    await expect(deceived.list(configMaps)).rejects.toThrow(/^GET https:\/\/.*: (self-signed certificate|unable to verify)/);
    expect(deceived.problem()).toContain('certificate');
  });

  it('follows 500 objects made at once: each is told once', async () => {
    const { followed, seen } = follow();
    await followed.synced();
    const names = Array.from({ length: 500 }, (_, index) => `burst-${index}`);
    await sixteenAtOnce(names, (name) => apply(direct, name, { x: '1' }));
    await eventually(() => expect(followed.list()).toHaveLength(500), { within: 60_000 });
    expect([...seen].sort()).toEqual(names.map((name) => `ADDED ${name} 1`).sort());
    // More than one page.
    const again = follow();
    await again.followed.synced();
    expect(again.followed.list()).toHaveLength(500);
    await sixteenAtOnce(names, (name) => direct.delete(configMaps, 'default', name));
    await eventually(() => expect([followed.list().length, again.followed.list().length]).toEqual([0, 0]), { within: 60_000 });
    expect(seen).toHaveLength(1000);
  });

  it('follows on when the server was restarted: nothing is told twice', async () => {
    await apply(cluster, 'c', { x: '1' });
    const { followed, seen } = follow();
    await followed.synced();
    await apply(cluster, 'c', { x: '2' });
    await eventually(() => expect(seen).toEqual(['ADDED c 1', 'MODIFIED c 2']));
    await server.down();
    await eventually(() => expect(followed.problem()).toMatch(/^configmaps are as they were at \S+Z: /));
    expect(followed.get('default', 'c')?.data).toEqual({ x: '2' });
    await server.up();
    await apply(direct, 'c', { x: '3' });
    await eventually(() => expect(seen).toEqual(['ADDED c 1', 'MODIFIED c 2', 'MODIFIED c 3']), { within: 60_000 });
    await eventually(() => expect([followed.problem(), cluster.problem()]).toEqual([undefined, undefined]));
  });

  it('lists anew when what it missed is forgotten, and tells the differences', async () => {
    for (const name of ['d', 'e', 'f']) await apply(direct, name, { x: '1' });
    const { followed, seen } = follow();
    await followed.synced();
    seen.length = 0;
    wire.cut();
    await apply(direct, 'd', { x: '2' });
    await direct.delete(configMaps, 'default', 'e');
    await direct.delete(configMaps, 'default', 'f');
    await apply(direct, 'f', { x: '3' });
    await apply(direct, 'g', { x: '4' });
    await server.forget();
    wire.mend();
    await eventually(() => expect([...seen].sort()).toEqual(['ADDED f 3', 'ADDED g 4', 'DELETED e 1', 'DELETED f 1', 'MODIFIED d 2']), { within: 60_000 });
    expect(followed.list().map(({ metadata }) => metadata.name).sort()).toEqual(['d', 'f', 'g']);
  });

  it('does not wait for a server that hangs, and goes on when it is well', async () => {
    cluster = open(throughWire(), 2_000);
    const { followed, seen } = follow();
    await followed.synced();
    wire.hold();
    await expect(apply(cluster, 'h', { x: '1' })).rejects.toThrow(/no answer within 2 s$/);
    await eventually(() => expect(followed.problem()).toMatch(/no answer within 2 s$/), { within: 60_000 });
    await apply(direct, 'h', { x: '2' });
    wire.mend();
    await eventually(() => expect(seen).toEqual(['ADDED h 2']), { within: 60_000 });
    followed.stop();
    cluster.close();
    await eventually(() => expect(wire.connections).toBe(0));
  });
});
