import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export type NetworkMode = 'machine' | 'namespace' | 'docker';

export interface NetworkChoice {
  readonly mode: NetworkMode;
  /** Why pods are on a network of Docker's without being asked to. */
  readonly because?: string;
  /** What the mode that was asked for needs and this node lacks. */
  readonly lacking?: string;
}

/** Programs that wire pods, and the Debian packages that bring them. */
const programs = { ip: 'iproute2', bridge: 'iproute2', nsenter: 'util-linux', nft: 'nftables' } as const;
const capNetAdmin = 12n;
const capSysAdmin = 21n;

/** Why this process cannot wire pods itself, and what to do about it; undefined: it can. */
export function wiringLacks(): string | undefined {
  if (process.platform !== 'linux') return `only Linux wires pods, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'the agent is not root';
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  const missing = Object.keys(programs).filter((name) => !folders.some((folder) => existsSync(join(folder, name)))) as (keyof typeof programs)[];
  if (missing.length > 0) return `${missing.join(', ')} not found (Debian, Ubuntu: apt-get install ${[...new Set(missing.map((name) => programs[name]))].join(' ')})`;
  const capabilities = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  const lacking = [[capNetAdmin, 'CAP_NET_ADMIN'] as const, [capSysAdmin, 'CAP_SYS_ADMIN'] as const].filter(([bit]) => (capabilities & (1n << bit)) === 0n);
  return lacking.length === 0 ? undefined : `root here lacks ${lacking.map(([, name]) => name).join(' and ')} (an unprivileged container?)`;
}

export function chooseNetwork(asked: 'auto' | NetworkMode, lacks: string | undefined = wiringLacks()): NetworkChoice {
  if (asked === 'auto') return lacks === undefined ? { mode: 'machine' } : { mode: 'docker', because: lacks };
  return asked === 'docker' || lacks === undefined ? { mode: asked } : { mode: asked, lacking: lacks };
}
