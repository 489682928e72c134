import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pod, Service } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { SmallCluster } from './small-cluster.ts';

const main = { name: 'main', image: 'busybox:1.36', command: ['sleep', '3600'] };
const set = {
  apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' },
  spec: { serviceName: 'db', replicas: 2, podManagementPolicy: 'Parallel', selector: { matchLabels: { app: 'db' } }, template: { metadata: { labels: { app: 'db' } }, spec: { terminationGracePeriodSeconds: 0, containers: [main] } } },
};
const headless = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'db' }, spec: { clusterIP: 'None', selector: { app: 'db' }, ports: [{ name: 'sql', port: 5432 }] } };

const own = '127.0.0.1 localhost\n';

/** Asked as programs ask: from within pods, by what is in their resolv.conf. */
whenDocker(describe)('DNS of a small cluster', () => {
  let cluster: SmallCluster;
  let hostsFile: string;
  beforeAll(async () => {
    cluster = await SmallCluster.start([], { later: ['one'], settings: { ROUNDSMAN_INTAKE_CLUSTER_DOMAIN: 'corp.test' } });
    hostsFile = join(cluster.folder, 'hosts');
    writeFileSync(hostsFile, own);
    cluster.addNode('one', { ROUNDSMAN_NODE_AGENT_HOSTS_FILE: hostsFile });
    await cluster.ready(['one']);
    await cluster.apply(headless, set);
    await cluster.must(['rollout', 'status', 'statefulset/db', '--timeout=60s'], { timeoutMs: 70_000 });
  });
  afterAll(() => cluster?.stop());

  const lookup = async (...args: string[]): Promise<string> => (await cluster.kubectl(['exec', 'db-0', '--', 'nslookup', ...args])).stdout;
  const addressesIn = (said: string): string[] => [...said.matchAll(/^Address: (\S+)$/gm)].map(([, address]) => address!).sort();
  const addressOf = async (pod: string): Promise<string> => (await cluster.get<Pod>('pod', pod)).status?.podIP ?? '';

  it('pods find each other by name, service and port, and by address', async () => {
    const [first, second] = [await addressOf('db-0'), await addressOf('db-1')];
    await eventually(async () => expect(addressesIn(await lookup('-type=a', 'db.default.svc.corp.test'))).toEqual([first, second].sort()), { within: 30_000 });
    expect(addressesIn(await lookup('-type=a', 'db-1.db.default.svc.corp.test'))).toEqual([second]);
    expect(await lookup('-type=srv', '_sql._tcp.db.default.svc.corp.test')).toMatch(/5432 db-1\.db\.default\.svc\.corp\.test/);
    expect(await lookup(second)).toContain('name = db-1.db.default.svc.corp.test');
    expect(await lookup('-type=a', 'none.default.svc.corp.test')).toContain('NXDOMAIN');
    // Short names, by the search list; the pod's own name is its fully qualified one.
    expect(await cluster.must(['exec', 'db-0', '--', 'ping', '-c', '1', 'db-1.db'])).toContain(`PING db-1.db (${second})`);
    expect((await cluster.must(['exec', 'db-0', '--', 'hostname', '-f'])).trim()).toBe('db-0.db.default.svc.corp.test');
  });

  it('names follow what is ready, and go on being answered when the agent is started again', async () => {
    await cluster.must(['scale', 'statefulset', 'db', '--replicas=1']);
    const first = await addressOf('db-0');
    await eventually(async () => expect(addressesIn(await lookup('-type=a', 'db.default.svc.corp.test'))).toEqual([first]), { within: 20_000 });
    await cluster.kill(['agent-one']);
    cluster.restart(['agent-one']);
    await cluster.ready(['one']);
    await eventually(async () => expect(addressesIn(await lookup('-type=a', 'db.default.svc.corp.test'))).toEqual([first]), { within: 20_000 });
  });

  it('hosts of DNS objects and Ingresses are known to pods, and to programs of the machine by its hosts file', async () => {
    const address = await eventually(async () => (await cluster.get<Service>('service', 'ingress', '-n', 'kube-system')).status?.loadBalancer.ingress?.[0]?.ip ?? false);
    const backend = { service: { name: 'db', port: { number: 5432 } } };
    await cluster.apply(
      { apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'mall' }, spec: { host: 'mall.example', paths: [{ path: '/db', service: { name: 'db', port: 5432 } }] } },
      { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'site' }, spec: { rules: [{ host: 'site.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }] } },
    );
    for (const host of ['mall.example', 'site.example']) await eventually(async () => expect(addressesIn(await lookup('-type=a', host))).toEqual([address]), { within: 30_000 });
    await eventually(() => expect(readFileSync(hostsFile, 'utf8')).toBe(`${own}# BEGIN roundsman ${cluster.id}\n${address}\tmall.example\n${address}\tsite.example\n# END roundsman ${cluster.id}\n`), { within: 30_000 });
    await cluster.must(['delete', 'dns/mall', 'ingress/site']);
    await eventually(() => expect(readFileSync(hostsFile, 'utf8')).toBe(own), { within: 30_000 });
  });
});
