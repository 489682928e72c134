import { readFileSync, rmSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { claimedRanges, routedRanges, wiringLacks } from '@roundsman/node-agent';
import type { Home } from '../home.ts';
import { UserError } from '../user-error.ts';
import { chooseRanges, networkChoiceSchema, type NetworkChoice } from './ranges.ts';

const file = 'network.json';

const keptNetwork = (home: Home): NetworkChoice | undefined => {
  const text = home.read(file);
  return text === undefined ? undefined : networkChoiceSchema.parse(JSON.parse(text));
};

/** What a cluster that starts here is to have, and the way back where intake refuses it. */
export interface HomeNetwork {
  readonly choice: NetworkChoice;
  /** In terms of the command line, with the home as it was before; undefined for an error that is not about ranges. */
  refusal(error: Error): UserError | undefined;
}

/** The network of the home, decided now if it never was; kept there. */
export async function networkOf(home: Home, asked: Partial<NetworkChoice>): Promise<HomeNetwork> {
  const before = home.read(file);
  const kept = keptNetwork(home);
  const taken = [...(await routedRanges()), ...(await claimedRanges(home.id)), ...Object.values(networkInterfaces()).flatMap((list) => (list ?? []).flatMap(({ cidr }) => cidr ?? [])), ...nameServers()];
  const choice = chooseRanges(asked, kept, taken);
  const changed = JSON.stringify(choice) !== JSON.stringify(kept);
  if (changed) home.write(file, `${JSON.stringify(choice, undefined, 2)}\n`);
  return {
    choice,
    refusal(error) {
      if (!Object.keys(flagOf).some((setting) => error.message.includes(setting))) return undefined;
      if (changed && before === undefined) rmSync(home.file(file), { force: true });
      else if (changed) home.write(file, before!);
      const said = Object.entries(flagOf).reduce((text, [setting, flag]) => text.replaceAll(setting, flag), error.message);
      return new UserError(said, changed ? 'Nothing was changed: start it with other ranges, or leave the flags out.' : undefined, { exitCode: 2, cause: error });
    },
  };
}

/** Settings of intake, and the flags by which a person gives them. */
const flagOf: Readonly<Record<string, string>> = {
  ROUNDSMAN_INTAKE_POD_CIDRS: '--pod-cidr',
  ROUNDSMAN_INTAKE_NODE_PREFIXES: 'the parts of --pod-cidr that nodes get (ROUNDSMAN_INTAKE_NODE_PREFIXES)',
  ROUNDSMAN_INTAKE_SERVICE_CIDRS: '--service-cidr',
  ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS: '--load-balancer-cidr',
};

/** Of the machine: a pod range over them would take names away from everybody. */
function nameServers(): string[] {
  try {
    return readFileSync('/etc/resolv.conf', 'utf8').split('\n').flatMap((line) => /^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/.exec(line)?.[1] ?? []).map((address) => `${address}/32`);
  } catch {
    // Not every machine has one.
    return [];
  }
}

/** What the pods of this many nodes of one machine are wired to. */
export const networkModeFor = (nodes: number): 'machine' | 'namespace' | 'docker' => (wiringLacks() !== undefined ? 'docker' : nodes === 1 ? 'machine' : 'namespace');

/** Settings of intake; what the person has set in the environment goes before. */
export const intakeNetworkEnv = ({ podCidr, serviceCidr, loadBalancerCidr, backend }: NetworkChoice, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  unlessSet({ ROUNDSMAN_INTAKE_POD_CIDRS: podCidr, ROUNDSMAN_INTAKE_SERVICE_CIDRS: serviceCidr, ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS: loadBalancerCidr, ROUNDSMAN_INTAKE_NETWORK_BACKEND: backend }, env);

/** Of the agent of a node: the first one looks after the machine, too. */
export const agentNetworkEnv = (mode: 'machine' | 'namespace' | 'docker', isFirst: boolean, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  unlessSet({ ROUNDSMAN_NODE_AGENT_NETWORK: mode, ROUNDSMAN_NODE_AGENT_MACHINE: String(isFirst) }, env);

/** What the person has not set. */
export const unlessSet = (settings: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => Object.fromEntries(Object.entries(settings).filter(([name]) => !env[name]));
