// DNS of one node in a process of its own, for a cluster of 500 Services; says its port, and ends with its parent.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NetworkState } from '@roundsman/network';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { NodeDns } from '../dist/dns/node-dns.js';

const state = new NetworkState();
const objects = Array.from({ length: 500 }, (_, index) => {
  const clusterIP = `10.96.${index >> 8}.${index & 255}`;
  return { resource: 'services', object: { apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name: `web-${index}`, uid: `web-${index}`, resourceVersion: '1' }, spec: { type: 'ClusterIP', clusterIP, clusterIPs: [clusterIP], ports: [{ name: 'http', protocol: 'TCP', port: 80 }] } } };
});
state.replace(
  { podCidrs: ['10.244.0.0/16'], nodePrefixes: [24], serviceCidrs: ['10.96.0.0/12'], loadBalancerCidrs: [], nodePorts: { first: 30_000, last: 32_767 }, domain: 'cluster.local', dnsAddresses: ['10.96.0.10'], backend: 'host-gw' },
  objects,
);
const dataDir = mkdtempSync(join(tmpdir(), 'roundsman-bench-'));
const dns = new NodeDns({ state, addresses: ['127.0.0.1'], port: 0, upstreams: [], ttlSeconds: 5, dataDir, log: pino({ level: 'warn' }), metrics: new Registry(), resolvConf: () => Promise.resolve('') });
await dns.start();
rmSync(dataDir, { recursive: true, force: true });
console.log(`port ${dns.endpoint?.split(':')[1]}`);
process.stdin.resume().on('end', () => process.exit());
