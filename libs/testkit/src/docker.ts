import { execFile } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { dockerUnavailable, programPath } from './docker-requirements.ts';
import { ownNumber } from './own-part.ts';
import { ServerProcess, temporaryDirectory } from './server-process.ts';

const execute = promisify(execFile);

export interface DockerOptions {
  /** Containers outlive the daemon (`--live-restore`); default false, as a plain Docker. */
  readonly liveRestore?: boolean;
  /** Network namespace (`/run/netns/<name>`) that it runs in; default: that of this process. */
  readonly namespace?: string;
  /** More arguments for dockerd. */
  readonly args?: readonly string[];
}

export interface TestDocker {
  /** Path of its unix socket. */
  readonly socket: string;
  /** `unix://<socket>`: DOCKER_HOST. */
  readonly host: string;
  /** Of its bridge, which is this machine's address for its containers. */
  readonly gateway: string;
  /** Of its containers: `10.x.y.0/24`. */
  readonly subnet: string;
  /** Above the cgroups of all its containers. */
  readonly cgroupParent: string;
  readonly pid: number;
  /** One request to its API; `body` is JSON unless it is bytes (a tar archive). Throws the daemon's words for a status of 400 or more. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Ends the daemon alone, as a crash would; containers go on until `restart`, and over it with `liveRestore`. */
  kill(signal?: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  restart(): Promise<void>;
  /** Stops the daemon in its tracks: connections stay, nothing is answered, until `resume`. */
  pause(): void;
  resume(): void;
  /** The last lines of its log. */
  log(): string;
  /** Ends it with all containers; removes its files, mounts, cgroups and bridge. */
  stop(): Promise<void>;
}

/** A /24 that no interface has. */
async function freeSubnet(): Promise<string> {
  const { stdout } = await execute(programPath('ip') ?? 'ip', ['-4', '-o', 'addr']);
  for (;;) {
    const prefix = `10.${ownNumber(205, 255)}.${Math.floor(Math.random() * 254) + 1}`;
    if (!stdout.includes(` ${prefix}.`)) return prefix;
  }
}

/**
 * Removes what a killed daemon leaves: processes of its containers (by cgroup), containerd and shims (by the folder they are called with; the
 * quotes keep this script itself from being found), sockets of shims, mounts, cgroups, bridge and rules. Every step may find nothing.
 */
const cleanUpScript = (at: { directory: string; execRoot: string; cgroup: string; bridge: string }): string => `
PATH=$PATH:/usr/sbin:/sbin
for pass in $(seq 40); do
  pids=$(find /sys/fs/cgroup -path '*${at.cgroup}/*' -name cgroup.procs -exec cat {} + 2>/dev/null | sort -u)
  for p in /proc/[0-9]*; do tr '\\0' ' ' 2>/dev/null <$p/cmdline | grep -qF '${at.execRoot}'"/containerd/" && pids="$pids \${p#/proc/}"; done 2>/dev/null
  [ -n "$pids" ] || break
  kill -9 $pids 2>/dev/null; sleep 0.05
done
{ find '${at.execRoot}' -name address -exec cat {} + 2>/dev/null; echo; } | sed 's,unix://,\\n,g' | while read -r socket; do [ -z "$socket" ] || rm -f "$socket"; done
grep -F ' ${at.directory}/' /proc/self/mounts | cut -d' ' -f2 | sort -r | while read -r mount; do umount -l "$mount"; done
find /sys/fs/cgroup -depth -type d -path '*${at.cgroup}*' -exec rmdir {} + 2>/dev/null
ip link del '${at.bridge}' 2>/dev/null
while iptables -w -D FORWARD -i '${at.bridge}' -o '${at.bridge}' -j ACCEPT 2>/dev/null; do :; done
true`;

/**
 * A real Docker daemon with its own files, socket, cgroup and bridge, gone with this process; several may run on one machine. It touches no rules
 * of the firewall: published ports are served by its user-space proxy, containers reach each other and this machine, and nothing beyond.
 */
export async function startDocker({ liveRestore = false, namespace, args = [] }: DockerOptions = {}): Promise<TestDocker> {
  const unavailable = dockerUnavailable();
  if (unavailable !== undefined) throw new Error(`no Docker for this test: ${unavailable}`);
  const directory = temporaryDirectory('docker');
  const id = basename(directory).replace('roundsman-docker-', '').toLowerCase();
  const at = { directory, execRoot: join(directory, 'exec'), cgroup: `/roundsman-docker-${id}`, bridge: `rd-${id}` };
  const socket = join(directory, 'docker.sock');
  const pidFile = join(directory, 'docker.pid');
  const configFile = join(directory, 'daemon.json');
  const cleanUp = cleanUpScript(at);
  const prefix = await freeSubnet();
  writeFileSync(configFile, '{}');
  mkdirSync(at.execRoot, { mode: 0o700 });
  const dockerd = programPath('dockerd') ?? 'dockerd';

  const server = new ServerProcess({
    // Not `ip netns exec`, which hides the control groups.
    command: namespace === undefined ? dockerd : 'nsenter',
    args: [
      ...(namespace === undefined ? [] : [`--net=${namespace}`, '--', dockerd]),
      ...`--config-file ${configFile} --data-root ${join(directory, 'data')} --exec-root ${at.execRoot} --pidfile ${pidFile} -H unix://${socket}`.split(' '),
      ...`--bridge ${at.bridge} --iptables=false --ip6tables=false --ip-masq=false --ip-forward=false --userland-proxy=true`.split(' '),
      ...`--exec-opt native.cgroupdriver=cgroupfs --cgroup-parent ${at.cgroup} --live-restore=${liveRestore}`.split(' '),
      ...args,
    ],
    logFile: join(directory, 'server.log'),
    directory,
    lastSignal: 'KILL',
    cleanUp,
  });

  const up = async (): Promise<void> => {
    // After SIGKILL their processes may stay as zombies for a while; a new daemon would take them for alive.
    for (const stale of [pidFile, join(at.execRoot, 'containerd', 'containerd.pid')]) rmSync(stale, { force: true });
    await server.start();
    const deadline = Date.now() + 60_000;
    for (;;) {
      try {
        await ask(socket, 'GET', '/_ping');
        return;
      } catch (error) {
        if (!server.running || Date.now() > deadline) throw new Error(`dockerd did not come up:\n${server.log()}`, { cause: error });
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  };
  const stop = async (): Promise<void> => {
    await server.kill('SIGKILL');
    await execute('/bin/sh', ['-c', cleanUp]);
    // What was killed just now may have written a last file.
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };

  try {
    await makeBridge(at.bridge, `${prefix}.1/24`, namespace);
    await up();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    socket,
    host: `unix://${socket}`,
    gateway: `${prefix}.1`,
    subnet: `${prefix}.0/24`,
    cgroupParent: at.cgroup,
    get pid() {
      return server.pid;
    },
    request: (method, path, body) => ask(socket, method, path, body),
    kill: (signal = 'SIGKILL') => server.kill(signal),
    restart: async () => {
      await server.kill('SIGKILL');
      await up();
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    log: () => server.log(),
    stop,
  };
}

async function makeBridge(name: string, address: string, namespace: string | undefined): Promise<void> {
  const ip = programPath('ip') ?? 'ip';
  const iptables = programPath('iptables') ?? 'iptables';
  const run = (program: string, args: string[]): Promise<{ stdout: string }> => (namespace === undefined ? execute(program, args) : execute('nsenter', [`--net=${namespace}`, '--', program, ...args]));
  await run(ip, ['link', 'add', name, 'type', 'bridge']);
  await run(ip, ['addr', 'add', address, 'dev', name]);
  await run(ip, ['link', 'set', name, 'up']);
  // Another Docker on this machine may have closed forwarding, which also bridges obey.
  const { stdout } = await run(iptables, ['-w', '-S', 'FORWARD']);
  if (stdout.includes('-P FORWARD DROP')) await run(iptables, ['-w', '-I', 'FORWARD', '-i', name, '-o', name, '-j', 'ACCEPT']);
}

function ask(socketPath: string, method: string, path: string, body?: unknown): Promise<unknown> {
  const bytes = body instanceof Uint8Array ? body : body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const type = body instanceof Uint8Array ? 'application/x-tar' : 'application/json';
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path, ...(bytes === undefined ? {} : { headers: { 'content-type': type, 'content-length': bytes.length } }) }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(parts).toString();
        const json = response.headers['content-type']?.startsWith('application/json') === true && text !== '';
        // A stream of progress is several documents: left as text.
        const answer: unknown = json && !text.trimEnd().includes('\n') ? JSON.parse(text) : text;
        if ((response.statusCode ?? 500) >= 400) reject(new Error(`${method} ${path}: ${(answer as { message?: string }).message ?? text}`));
        else resolve(answer);
      });
    });
    sent.once('error', reject);
    sent.end(bytes);
  });
}
