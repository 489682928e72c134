import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { unlessLacking } from '@roundsman/testkit';
import { environment } from '../network-namespace.ts';
import type { PeerOrder } from './peer.ts';

/** Why packets cannot be sent through namespaces here; undefined: they can. */
export function packetsUnavailable(): string | undefined {
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const missing = (['nft', 'ip', 'nsenter'] as const).filter((program) => !(environment().PATH ?? '').split(':').some((folder) => existsSync(`${folder}/${program}`)));
  return missing.length === 0 ? undefined : `not installed: ${missing.join(', ')} (Debian: apt-get install nftables iproute2 util-linux)`;
}

/** For suites that send packets. */
export const whenPackets = (describe: Parameters<typeof unlessLacking>[1]): ReturnType<typeof unlessLacking> => unlessLacking(packetsUnavailable(), describe);

const sh = (script: string): string => execFileSync('sh', ['-ec', script], { encoding: 'utf8', env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });

/** An empty network namespace. */
export class EmptyNamespace {
  readonly #name = `rs-${randomBytes(3).toString('hex')}`;
  readonly path = `/run/netns/${this.#name}`;

  constructor() {
    sh(`ip netns add ${this.#name}; ip -n ${this.#name} link set lo up`);
  }

  /** What a command prints there. */
  run(command: string): string {
    return sh(`nsenter --net=${this.path} -- ${command}`);
  }

  stop(): void {
    sh(`ip netns del ${this.#name}`);
  }
}

/** A namespace with a peer in it. */
export class Peer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (answers: string[]) => void>();
  #next = 1;
  readonly started: Promise<void>;

  readonly addresses: readonly [ipv4: string, ipv6: string];

  constructor(namespace: string, addresses: readonly [ipv4: string, ipv6: string], name: string) {
    this.addresses = addresses;
    const program = fileURLToPath(new URL('./peer.ts', import.meta.url));
    this.#child = spawn('nsenter', [`--net=/run/netns/${namespace}`, '--', process.execPath, '--disable-warning=ExperimentalWarning', program, name], { stdio: ['pipe', 'pipe', 'inherit'], env: environment() });
    this.started = new Promise((resolve) => this.#waiting.set(0, () => resolve()));
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const { id, answers } = JSON.parse(line) as { id: number; answers: string[] };
      this.#waiting.get(id)?.(answers);
      this.#waiting.delete(id);
    });
  }

  /** One answer per connection: `<peer> <address it saw>`, or the error. */
  ask(protocol: 'tcp' | 'udp', address: string, port: number, count = 1): Promise<string[]> {
    return this.#order({ do: 'ask', protocol, address, port, count });
  }

  /** A connection (a flow) that stays open; `say` speaks on it again. */
  async open(key: string, protocol: 'tcp' | 'udp', address: string, port: number): Promise<string> {
    return (await this.#order({ do: 'open', key, protocol, address, port }))[0] ?? '';
  }
  async say(key: string): Promise<string> {
    return (await this.#order({ do: 'say', key }))[0] ?? '';
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }

  #order(order: Omit<PeerOrder, 'id'>): Promise<string[]> {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#child.stdin?.write(`${JSON.stringify({ id, ...order })}\n`);
    });
  }
}

/** A node with three pods, and somebody outside, each in a network namespace: 10.244.0.1 and .2 are this node's pods by what slices say, .3 is another node's. */
export class PacketLab {
  readonly #id = randomBytes(3).toString('hex');
  readonly node = `rs-${this.#id}`;
  readonly nodeAddress = '192.0.2.1';
  readonly nodeAddress6 = '2001:db8::1';
  readonly pods: Peer[] = [];
  readonly outside: Peer;
  /** On the node itself. */
  readonly onNode: Peer;

  private constructor() {
    const { node } = this;
    // Redirects and refusals share one budget of ICMP per client.
    const sysctls = ['ipv4/ip_forward=1', 'ipv6/conf/all/forwarding=1', 'ipv4/conf/all/send_redirects=0', 'ipv4/conf/default/send_redirects=0'].map((pair) => `echo ${pair.split('=')[1]} >/proc/sys/net/${pair.split('=')[0]}`);
    const script = [`ip netns add ${node}`, `ip -n ${node} link set lo up`, `nsenter --net=/run/netns/${node} sh -c '${sysctls.join('; ')}'`];
    for (const pod of [1, 2, 3]) script.push(...wire(node, `${node}-p${pod}`, `p${pod}`, `10.244.0.${pod}`, `fd00:244::${pod}`));
    const out = `${node}-o`;
    script.push(`ip netns add ${out}`, `ip -n ${out} link set lo up`, `ip link add eth0 netns ${out} type veth peer name out netns ${node}`);
    for (const [where, device, four, six, via, via6] of [[node, 'out', '192.0.2.1/24', '2001:db8::1/64', '192.0.2.2', '2001:db8::2'], [out, 'eth0', '192.0.2.2/24', '2001:db8::2/64', '192.0.2.1', '2001:db8::1']] as const) {
      script.push(`ip -n ${where} addr add ${four} dev ${device}`, `ip -n ${where} addr add ${six} dev ${device} nodad`, `ip -n ${where} link set ${device} up`, `ip -n ${where} route add default via ${via}`, `ip -n ${where} -6 route add default via ${via6}`);
    }
    sh(script.join('\n'));
    for (const pod of [1, 2, 3]) this.pods.push(new Peer(`${node}-p${pod}`, [`10.244.0.${pod}`, `fd00:244::${pod}`], `p${pod}`));
    this.outside = new Peer(out, ['192.0.2.2', '2001:db8::2'], 'outside');
    this.onNode = new Peer(node, ['192.0.2.1', '2001:db8::1'], 'node');
  }

  static async start(): Promise<PacketLab> {
    const lab = new PacketLab();
    await Promise.all([...lab.pods, lab.outside, lab.onNode].map(({ started }) => started));
    return lab;
  }

  /** Of the node. */
  get path(): string {
    return `/run/netns/${this.node}`;
  }

  /** What a command prints in the node's namespace. */
  run(command: string): string {
    return sh(`nsenter --net=${this.path} -- ${command}`);
  }

  stop(): void {
    for (const peer of [...this.pods, this.outside, this.onNode]) peer.stop();
    for (const name of [1, 2, 3].map((pod) => `${this.node}-p${pod}`).concat(`${this.node}-o`, this.node)) sh(`ip netns del ${name}`);
  }
}

/** As the pod network does it: a link of its own, and one address. */
const wire = (node: string, pod: string, device: string, four: string, six: string): string[] => [
  `ip netns add ${pod}`,
  `ip -n ${pod} link set lo up`,
  `ip link add eth0 netns ${pod} type veth peer name ${device} netns ${node}`,
  `ip -n ${pod} addr add ${four}/32 dev eth0`,
  `ip -n ${pod} addr add ${six}/128 dev eth0 nodad`,
  `ip -n ${node} addr add 10.244.0.254/32 dev ${device}`,
  `ip -n ${node} addr add fd00:244::fe/128 dev ${device} nodad`,
  `ip -n ${pod} link set eth0 up`,
  `ip -n ${node} link set ${device} up`,
  `ip -n ${node} route add ${four} dev ${device}`,
  `ip -n ${node} -6 route add ${six} dev ${device}`,
  `ip -n ${pod} route add 10.244.0.254 dev eth0`,
  `ip -n ${pod} route add default via 10.244.0.254`,
  `ip -n ${pod} -6 route add fd00:244::fe dev eth0`,
  `ip -n ${pod} -6 route add default via fd00:244::fe`,
];
