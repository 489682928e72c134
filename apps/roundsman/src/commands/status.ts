import { existsSync } from 'node:fs';
import { containerProblems, GatewayClient, networkProblems, nodeProblems } from '../gateway-client.ts';
import { Home, type State } from '../home.ts';
import { leftovers } from '../leftovers.ts';
import { alive } from '../processes.ts';
import { runnerProblems } from '../runners/ready.ts';

/** What `--json` prints. Names stay: scripts read them. */
interface Status {
  readonly home: string;
  /** `ready`; `unwell`: it runs, something is not as it should be; `starting`; `killed`: its main process is gone, others still run; `stopped`. */
  readonly state: 'ready' | 'unwell' | 'starting' | 'killed' | 'stopped';
  readonly running: boolean;
  readonly ready: boolean;
  readonly version?: string;
  readonly pid?: number;
  readonly startedAt?: string;
  readonly gateway?: string;
  readonly nats?: string;
  readonly natsMonitor?: string;
  readonly postgres?: string;
  readonly grafana?: string;
  readonly kubeconfig?: string;
  readonly nodes?: readonly string[];
  /** Where it joined; then it has no gateway and no database of its own. */
  readonly memberOf?: string;
  /** Addresses of the cluster, and what its pods here are wired to. */
  readonly network?: NonNullable<State['network']>;
  /** Socket of the Docker that pods run on. */
  readonly docker?: string;
  /** Pods were switched off: `--docker off`. */
  readonly dockerOff?: true;
  /** Pods of a DaemonSet, or processes of the agents. */
  readonly runners?: 'daemonset' | 'process';
  readonly problems: readonly string[];
}

/** Prints it; sets the exit code: 0 ready, 1 not well, 3 not running. */
export async function status(options: { readonly json?: boolean }): Promise<void> {
  const found = await statusOf(new Home());
  process.exitCode = found.state === 'ready' ? 0 : found.state === 'stopped' ? 3 : 1;
  process.stdout.write(options.json ? `${JSON.stringify(found, undefined, 2)}\n` : inWords(found));
}

export async function statusOf(home: Home): Promise<Status> {
  const state = existsSync(home.path) ? home.state() : undefined;
  if (!state) return { home: home.path, state: 'stopped', running: false, ready: false, problems: [] };
  const about = {
    home: home.path,
    version: state.version,
    startedAt: state.startedAt,
    gateway: state.gateway,
    nats: state.nats,
    ...(state.natsMonitor === undefined ? {} : { natsMonitor: state.natsMonitor }),
    postgres: state.postgres,
    grafana: state.grafana,
    kubeconfig: home.kubeconfig,
    nodes: state.nodes,
    ...(state.memberOf === undefined ? {} : { memberOf: state.memberOf }),
    ...(state.network === undefined ? {} : { network: state.network }),
    ...(state.docker === undefined ? {} : { docker: state.docker }),
    ...(state.dockerOff === undefined ? {} : { dockerOff: state.dockerOff }),
    ...(state.runners === undefined ? {} : { runners: state.runners }),
  };
  if (!alive(state.supervisor)) {
    const left = leftovers(home);
    if (left.length === 0) return { home: home.path, state: 'stopped', running: false, ready: false, version: state.version, problems: state.ended === undefined ? [] : [`it had to end: ${state.ended}`] };
    const problems = [`the main process (${state.supervisor.pid}) was killed; still running: ${left.map(({ name, pid }) => `${name} (${pid})`).join(', ')}; roundsman up or roundsman down ends them`];
    return { ...about, state: 'killed', running: false, ready: false, problems };
  }
  const running = { ...about, running: true, pid: state.supervisor.pid };
  if (state.phase !== 'ready') return { ...running, state: 'starting', ready: false, problems: [`it is ${state.phase}`] };
  // Whether it is well as a node is told by the cluster: kubectl get nodes there.
  if (state.memberOf !== undefined) return { ...running, state: 'ready', ready: true, problems: [] };
  const client = new GatewayClient(state.gateway, home.token(() => ''));
  const problems = await problemsOf(client, state).catch((error: unknown) => [`the gateway does not answer: ${(error as Error).message}`]);
  return { ...running, state: problems.length === 0 ? 'ready' : 'unwell', ready: problems.length === 0, problems };
}

async function problemsOf(client: GatewayClient, { nodes, docker, runners = 'process' }: State): Promise<string[]> {
  const found = (await Promise.all([client.problems(), nodeProblems(client, nodes), docker === undefined ? [] : containerProblems(client, nodes), runnerProblems(client, runners, nodes)])).flat();
  return found.length === 0 ? found : [...found, ...(await networkProblems(client, nodes))];
}

function inWords({ home, state, pid, nodes, gateway, nats, startedAt, problems, memberOf, docker, dockerOff, network, runners }: Status): string {
  const where = ` (${home})`;
  const lines = problems.map((problem) => `  ${problem}\n`).join('');
  if (state === 'stopped') return `Roundsman does not run${where}. Start it: npx roundsman up (join, where this machine has joined a cluster)\n${lines}`;
  if (state === 'killed') return `Roundsman was killed${where}:\n${lines}`;
  const pods = docker === undefined ? `  pods    ${dockerOff === true ? 'switched off (--docker off)' : 'cannot run here: no Docker'}\n` : `  pods    on ${docker}${runners === 'process' ? '; runners are processes' : ''}\n`;
  if (memberOf !== undefined) return `This machine is node ${nodes?.[0]} of the cluster at ${memberOf}${where}: process ${pid} since ${startedAt}\n  NATS    ${nats}\n${pods}${lines}`;
  const words = { ready: 'is well', unwell: 'is not well', starting: 'is starting' }[state];
  return `Roundsman ${words}${where}: process ${pid} since ${startedAt}, ${nodes?.length === 1 ? '1 node' : `${nodes?.length} nodes`}\n  gateway ${gateway}\n  NATS    ${nats}\n${pods}${network === undefined || docker === undefined ? '' : networkLine(network)}${lines}`;
}

const wiredTo = { machine: 'the network of this machine', namespace: 'a network namespace of each node', docker: 'a network of Docker’s' } as const;

const networkLine = ({ podCidr, serviceCidr, loadBalancerCidr, mode }: NonNullable<State['network']>): string => `  network pods ${podCidr} on ${wiredTo[mode]}, Services ${serviceCidr}, load balancers ${loadBalancerCidr}\n`;
