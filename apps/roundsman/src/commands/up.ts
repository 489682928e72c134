import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { Home } from '../home.ts';
import { writeHosts } from '../hosts-file.ts';
import { members } from '../join/members.ts';
import { nodeNames } from '../nodes.ts';
import { stay } from '../stay.ts';
import { UserError } from '../user-error.ts';

export interface UpOptions {
  readonly nodes?: number;
  readonly docker?: string;
  readonly listen?: string;
  readonly writeHosts?: boolean;
  readonly podCidr?: string;
  readonly serviceCidr?: string;
  readonly loadBalancerCidr?: string;
  readonly networkBackend?: 'host-gw' | 'vxlan';
  readonly detach?: boolean;
  readonly port?: number;
  readonly natsPort?: number;
  readonly postgresPort?: number;
}

export async function up(options: UpOptions): Promise<void> {
  const { docker, port, natsPort, postgresPort, podCidr, serviceCidr, loadBalancerCidr, networkBackend } = options;
  if (options.writeHosts === true) writeHosts();
  const home = new Home();
  home.create();
  if (home.read('member.json') !== undefined) throw new UserError(`${home.path} is that of a machine that joined a cluster elsewhere`, 'Start it again with npx roundsman join, or set ROUNDSMAN_HOME to another folder.');
  // Machines that joined look for it where it was.
  const listen = options.listen === 'off' ? undefined : (options.listen ?? home.state()?.listen?.address);
  if (listen !== undefined) checkAddress(listen);
  const nodes = options.nodes ?? (home.state()?.nodes.length || defaultNodes);
  const taken = nodeNames(nodes).find((name) => members(home).some(({ node }) => node === name));
  if (taken !== undefined) throw new UserError(`--nodes ${nodes}: a machine has joined as ${taken}`, `Start fewer nodes, or take it out first: npx roundsman forget ${taken}`);
  const flags = [['--nodes', nodes], ['--docker', docker], ['--listen', options.listen], ['--port', port], ['--nats-port', natsPort], ['--postgres-port', postgresPort], ['--pod-cidr', podCidr], ['--service-cidr', serviceCidr], ['--load-balancer-cidr', loadBalancerCidr], ['--network-backend', networkBackend]];
  const network = Object.fromEntries(Object.entries({ podCidr, serviceCidr, loadBalancerCidr, backend: networkBackend }).filter(([, value]) => value !== undefined));
  await stay(home, {
    detach: options.detach === true,
    command: ['up', '--detach', ...flags.flatMap(([flag, value]) => (value === undefined ? [] : [String(flag), String(value)]))],
    differs: (running) => [
      ...(running.nodes.length === nodes ? [] : ['--nodes']),
      ...(['podCidr', 'serviceCidr', 'loadBalancerCidr'] as const).filter((name) => options[name] !== undefined && running.network?.[name] !== options[name]).map((name) => ({ podCidr: '--pod-cidr', serviceCidr: '--service-cidr', loadBalancerCidr: '--load-balancer-cidr' })[name]),
      ...(networkBackend === undefined || running.network?.backend === networkBackend ? [] : ['--network-backend']),
      ...(running.listen?.address === listen ? [] : ['--listen']),
      ...(docker === undefined || running.docker === (docker === 'off' ? undefined : docker.replace('unix://', '')) ? [] : ['--docker']),
    ],
    make: async (say, onFatal) => {
      const { Supervisor } = await import('../supervisor.ts');
      return new Supervisor({ home, nodes, docker, listen, network, ports: { gateway: port, nats: natsPort, postgres: postgresPort }, say, onFatal });
    },
  });
}

const defaultNodes = 3;

function checkAddress(address: string): void {
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map((one) => one.address));
  if (isIP(address) !== 0 && own.includes(address)) return;
  throw new UserError(`--listen ${address}: this machine has no such address`, `It has ${own.join(', ')}. Without --listen the one of the last start is kept; --listen off ends it.`, { exitCode: 2 });
}
