import { existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a program lies; also in the system's folders, which are not on everybody's PATH. */
export function programPath(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path) && statSync(path).isFile());
}

/** Programs that `startDocker`, `startMachines`, `testImages` and pods that are wired use, and the Debian packages that bring them. */
const programs = { dockerd: 'docker.io', containerd: 'containerd', ip: 'iproute2', iptables: 'iptables', nft: 'nftables', nsenter: 'util-linux', busybox: 'busybox-static' };

/** By bit number in the capability sets of /proc/self/status. */
const capabilities = { CAP_NET_ADMIN: 12, CAP_SYS_ADMIN: 21 };

/** Why no Docker daemon can be started here, in one sentence; undefined when it can. */
export function dockerUnavailable(): string | undefined {
  if (process.platform !== 'linux') return `a Docker daemon of one's own needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a Docker daemon must be started by root';
  const lacking = Object.entries(programs).filter(([name]) => programPath(name) === undefined);
  if (lacking.length > 0) return `${lacking.map(([name]) => name).join(', ')} not found: apt-get install ${lacking.map(([, debianPackage]) => debianPackage).join(' ')}`;
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0'}`);
  const missing = Object.entries(capabilities).filter(([, bit]) => (effective & (1n << BigInt(bit))) === 0n);
  if (missing.length > 0) return `root here lacks ${missing.map(([name]) => name).join(' and ')}, which a Docker daemon needs (an unprivileged container?)`;
  if (!existsSync('/sys/fs/cgroup/cgroup.controllers') && !existsSync('/sys/fs/cgroup/memory')) return 'no control groups are mounted at /sys/fs/cgroup';
  return undefined;
}

type Suites = { (name: string, body: () => void): void; skip: (name: string, body: () => void) => void };

/** For suites that need Docker: `whenDocker(describe)('name', () => …)`. */
export const whenDocker = <Describe extends Suites>(describe: Describe): ((name: string, body: () => void) => void) => unlessLacking(dockerUnavailable(), describe);

/**
 * For suites that need what not every machine has; `reason`: why this one cannot run them, undefined when it can. Then the suite is skipped and its
 * name says why; under CI=true it runs all the same, and fails with the reason.
 */
export function unlessLacking<Describe extends Suites>(reason: string | undefined, describe: Describe): (name: string, body: () => void) => void {
  if (reason === undefined || process.env['CI'] === 'true') return describe;
  return (name, body) => describe.skip(`${name} [skipped: ${reason}]`, body);
}
