import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { programPath } from './docker-requirements.ts';
import { startDocker, type DockerOptions, type TestDocker } from './docker.ts';
import { ownNumber } from './own-part.ts';
import { ServerProcess, temporaryDirectory } from './server-process.ts';

const run = promisify(execFile);
const ip = (...args: string[]): Promise<unknown> => run(programPath('ip') ?? 'ip', args);

/** A machine of its own as far as networks go: a network namespace with one link to the switch. */
export interface TestMachine {
  readonly name: string;
  /** `/run/netns/<name>`: what nsenter takes. */
  readonly namespace: string;
  readonly address: string;
  /** A Docker daemon of this machine; ended with the machines. */
  startDocker(options?: Omit<DockerOptions, 'namespace'>): Promise<TestDocker>;
  /** Runs a program there to its end; what it prints. */
  run(program: string, ...args: string[]): Promise<string>;
  /** Pulls the cable, and puts it back: its own end stays as it is. */
  cut(): Promise<void>;
  heal(): Promise<void>;
  /** Of all packets that come in, so many are lost, percent; 0: none. */
  lose(percent: number): Promise<void>;
  /** How many were since then. */
  lost(): Promise<number>;
}

export interface TestMachines {
  readonly machines: readonly TestMachine[];
  /** `10.x.y.0/24`, of the switch that they are on. */
  readonly subnet: string;
  /** Beyond all of them: where their default routes lead. Knows no addresses but those of the subnet. */
  readonly outside: { readonly namespace: string; readonly address: string; run(program: string, ...args: string[]): Promise<string> };
  /** Of this process's own machine on the switch: for what the machines have to reach that is no part of the test (NATS). */
  readonly uplink: string;
  /** All that was started in them, and then they. */
  stop(): Promise<void>;
}

/**
 * Machines joined by a switch, each a network namespace. `uplink` is the one link that is made in the namespace of this process. All are gone when this
 * process is.
 */
export async function startMachines(count: number): Promise<TestMachines> {
  const directory = temporaryDirectory('machines');
  const id = directory.slice(-6).toLowerCase();
  const prefix = await freePrefix();
  const names = { outside: `rt-${id}-o`, uplink: `rt${id}u` };
  const namespaces = [names.outside, ...Array.from({ length: count }, (_, index) => `rt-${id}-${index + 1}`)];
  // Whatever runs in a namespace keeps it; links to it go by name.
  const cleanUp = `
PATH=$PATH:/usr/sbin:/sbin
for name in ${namespaces.join(' ')}; do
  ip netns pids $name 2>/dev/null | xargs -r kill -9 2>/dev/null
  ip netns del $name 2>/dev/null
done
ip link del ${names.uplink} 2>/dev/null
true`;
  const guard = new ServerProcess({ command: '/bin/sleep', args: ['infinity'], logFile: `${directory}/guard.log`, directory, lastSignal: 'KILL', cleanUp });
  await guard.start();
  const dockers: TestDocker[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(dockers.map((docker) => docker.stop()));
    await guard.kill('SIGKILL');
    await run('/bin/sh', ['-c', cleanUp]);
    rmSync(directory, { recursive: true, force: true });
  };
  const within = (name: string) => async (program: string, ...args: string[]): Promise<string> => (await run('nsenter', [`--net=/run/netns/${name}`, '--', programPath(program) ?? program, ...args], { maxBuffer: 16 << 20 })).stdout;
  const outside = within(names.outside);

  const add = async (number: number): Promise<TestMachine> => {
    const name = namespaces[number] as string;
    const address = `${prefix}.${10 + number}`;
    const inside = within(name);
    const port = `port${number}`;
    await outside('ip', 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    await outside('ip', 'link', 'set', port, 'master', 'switch', 'up');
    await inside('ip', 'link', 'set', 'lo', 'up');
    await inside('ip', 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    await inside('ip', 'link', 'set', 'eth0', 'up');
    await inside('ip', 'route', 'add', 'default', 'via', `${prefix}.1`);
    return {
      name,
      namespace: `/run/netns/${name}`,
      address,
      run: inside,
      startDocker: async (options = {}) => {
        const docker = await startDocker({ ...options, namespace: `/run/netns/${name}` });
        dockers.push(docker);
        return docker;
      },
      cut: async () => void (await outside('ip', 'link', 'set', port, 'down')),
      heal: async () => void (await outside('ip', 'link', 'set', port, 'up')),
      lose: async (percent) => {
        await inside('nft', 'add', 'table', 'inet', 'loss');
        await inside('nft', 'delete', 'table', 'inet', 'loss');
        if (percent > 0) await inside('nft', `table inet loss { chain in { type filter hook prerouting priority -400; iifname "eth0" numgen random mod 100 < ${percent} counter drop; }; }`);
      },
      lost: async () => Number(/counter packets (\d+)/.exec(await inside('nft', 'list', 'table', 'inet', 'loss'))?.[1]),
    };
  };
  try {
    for (const name of namespaces) await ip('netns', 'add', name);
    await outside('ip', 'link', 'set', 'lo', 'up');
    await outside('ip', 'link', 'add', 'switch', 'type', 'bridge');
    await outside('ip', 'addr', 'add', `${prefix}.1/24`, 'dev', 'switch');
    await outside('ip', 'link', 'set', 'switch', 'up');
    await ip('link', 'add', names.uplink, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', names.outside);
    await outside('ip', 'link', 'set', 'uplink', 'master', 'switch', 'up');
    await ip('addr', 'add', `${prefix}.254/24`, 'dev', names.uplink);
    await ip('link', 'set', names.uplink, 'up');
    const machines: TestMachine[] = [];
    for (let number = 1; number <= count; number += 1) machines.push(await add(number));
    return { machines, subnet: `${prefix}.0/24`, outside: { namespace: `/run/netns/${names.outside}`, address: `${prefix}.1`, run: outside }, uplink: `${prefix}.254`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** First three bytes of a /24 that no interface here has. */
async function freePrefix(): Promise<string> {
  const { stdout } = await run(programPath('ip') ?? 'ip', ['-4', '-o', 'addr']);
  for (;;) {
    const prefix = `10.${ownNumber(160, 200)}.${Math.floor(Math.random() * 254) + 1}`;
    if (!stdout.includes(` ${prefix}.`)) return prefix;
  }
}
