import { join, resolve } from 'node:path';
import { z } from 'zod';
import { parseServer } from './dns/upstream/servers.ts';

const list = (text: string): string[] => text.split(',').map((part) => part.trim()).filter((part) => part !== '');
const pairs = (text: string): Record<string, string> => Object.fromEntries(list(text).map((pair) => [pair.split('=')[0] ?? '', pair.split('=').slice(1).join('=')]));

/** Environment variables `ROUNDSMAN_NODE_AGENT_<KEY>`. */
export const settingsSchema = z.object({
  node: z.string().regex(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'must be a Kubernetes name').describe('Name of the node'),
  addresses: z.string().default('127.0.0.1').transform(list).pipe(z.array(z.union([z.ipv4(), z.ipv6()])).min(1)).describe('Its IP addresses, separated by commas; runners listen on them'),
  labels: z.string().default('').transform(pairs).describe('key=value, separated by commas'),
  share: z.coerce.number().positive().max(1).default(1).describe('Part of the machine that is this node, where several share it'),
  cpu: z.coerce.number().positive().optional().describe('Cores of the node; default: its share of the machine'),
  memoryMi: z.coerce.number().int().positive().optional().describe('Memory in MiB; default: its share of the machine'),
  dataDir: z.string().min(1).describe('Folder of this agent alone; must outlive a restart'),
  volumesDir: z.string().default('').describe('Folder of the volumes that are made on this node, an absolute path that must outlive a restart; default: volumes in the data folder'),
  natsUrl: z.string().min(1).default('nats://127.0.0.1:4222').describe('NATS for its runners and its ingress proxy'),
  natsCaFile: z.string().optional().describe('PEM of the authority behind the certificate of NATS: runners then connect by TLS'),
  natsEndpointPort: z.coerce.number().int().min(1).max(65_535).optional().describe('Port of this machine at which pods of the cluster reach NATS: set where NATS runs, for one agent'),
  runnerEntry: z.string().default('').describe('Program of the probe-runner (its main.js); without it no runner is started'),
  runnerStandsIn: z.enum(['true', 'false']).default('false').transform((text) => text === 'true').describe('Keep the runner only while the cluster has none in pods; for a node that runs pods'),
  runnerFlags: z.string().default('--max-semi-space-size=1,--optimize-for-size,--v8-pool-size=1,--no-memory-pool').transform(list).describe('Node flags for the runner, separated by commas'),
  runnerSeedFile: z.string().optional().describe('nkey seed of the runner’s identity'),
  runnerName: z.string().optional().describe('Default: <runtime>-<node>'),
  runtime: z.string().min(1).default('default').describe('Runtime whose runner is kept here'),
  runnerLogLevel: z.string().default('info'),
  runnerCapacityQps: z.coerce.number().positive().optional().describe('Requests per second the runner may be asked for'),
  ingressEntry: z.string().default('').describe('Program of the ingress proxy (its main.js), which one agent per machine keeps; without it none is started'),
  ingressFlags: z.string().default('--max-semi-space-size=4,--v8-pool-size=1').transform(list).describe('Node flags for the ingress proxy, separated by commas'),
  ingressSeedFile: z.string().optional().describe('nkey seed of the identity of the ingress proxy, ingress-<node>'),
  ingressHttpPort: z.coerce.number().int().min(1).max(65_535).optional().describe('Port of the machine for HTTP to Ingresses; default: a free one, the same after a restart'),
  ingressHttpsPort: z.coerce.number().int().min(1).max(65_535).optional().describe('The same for HTTPS'),
  ingressSettings: z.string().default('').transform(pairs).describe('Further settings of the ingress proxy, KEY=value for ROUNDSMAN_INGRESS_<KEY>, separated by commas'),
  deny: z.string().default('').describe('CIDR ranges that are no targets besides link-local ones, separated by commas'),
  denyEndpoints: z.string().default('').describe('address:port pairs that are no targets: the product’s own'),
  allow: z.string().default('').describe('Ranges, addresses or address:port that are targets all the same'),
  docker: z.string().default('').describe('Socket of the Docker daemon that pods run on; without it this node runs none'),
  imageArchives: z.string().default('').transform(list).describe('Archives of images (docker save, pnpm image), separated by commas: loaded into Docker where they are missing there'),
  cluster: z.string().regex(/^[A-Za-z0-9][-A-Za-z0-9._]{0,62}$/).default('default').describe('Cluster whose pods these are: others on the same daemon are never touched'),
  network: z.enum(['auto', 'machine', 'namespace', 'docker']).default('auto').describe('What pods are wired to: the network namespace of the machine (one node per machine), one of the node’s own (several), or a network of Docker’s (without root; one machine only). auto: machine where that is possible'),
  machine: z.enum(['true', 'false']).default('false').transform((text) => text === 'true').describe('This agent also looks after the machine’s own network: routes to other machines, what leaves the cluster, Services as programs of the machine reach them. One agent per machine; always so where the network is machine'),
  serviceProxy: z.enum(['auto', 'nftables', 'userspace', 'off']).default('auto').describe('Who forwards Services: the kernel by nftables, or a process in user space. auto: nftables where it can be used'),
  dnsPort: z.coerce.number().int().min(0).max(65_535).default(0).describe('Port of the machine on which DNS is answered for the pods of this node, UDP and TCP; 0: any that is free'),
  dnsUpstreams: z.string().default('').transform(list).pipe(z.array(z.string().refine((text) => parseServer(text) !== undefined, 'must be an IP address, with a port where it is not 53: 10.0.0.1:5353, [fd00::1]:5353'))).describe('DNS servers that names outside of the cluster are asked of, separated by commas; default: those of the machine’s resolv.conf'),
  dnsTtlSeconds: z.coerce.number().int().min(0).max(3600).default(5).describe('How long others may remember the cluster’s own names'),
  hostsFile: z.string().default('').describe('Hosts file of the machine (/etc/hosts) in which the agent that looks after the machine keeps the hosts of DNS objects and Ingresses, in a block of the cluster’s own; empty: none'),
  maxPods: z.coerce.number().int().positive().default(110).describe('Pods the node may run'),
  parallelStarts: z.coerce.number().int().positive().default(4).describe('Sandboxes and containers that a daemon is asked to start at the same time'),
  stopRunner: z.enum(['true', 'false']).default('true').transform((text) => text === 'true').describe('End the runner and the ingress proxy with the agent; otherwise they go on and are adopted by the next agent'),
});
export type Settings = z.infer<typeof settingsSchema>;

export const runnerNameOf = ({ runnerName, runtime, node }: Settings): string => runnerName ?? `${runtime}-${node}`;

export const volumesFolderOf = ({ volumesDir, dataDir }: Settings): string => resolve(volumesDir === '' ? join(dataDir, 'volumes') : volumesDir);
