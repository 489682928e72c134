import { networkInterfaces } from 'node:os';
import { ingressIdentity, runnerIdentity } from '@roundsman/bus';
import { ingressEntry } from '@roundsman/ingress';
import { runnerEntry, runnerNodeFlags } from '@roundsman/probe-runner';
import type { ServiceDefinition, ServiceRun } from '@roundsman/service';
import type { Home, State } from './home.ts';
import type { NatsCertificate } from './nats-certificate.ts';
import { issuerSeedFile, seedFileOf } from './nats-server.ts';
import { agentNetworkEnv, intakeNetworkEnv, unlessSet } from './network/home-network.ts';
import { runnerOf } from './nodes.ts';
import type { Carrier } from './runners/carrier.ts';
import { imagesEnv } from './runners/settings.ts';
import { policyEnv } from './target-policy.ts';

export interface RunsOf {
  readonly home: Home;
  readonly nodes: readonly string[];
  readonly ports: Readonly<Record<string, number>>;
  readonly natsUrl: string;
  readonly listen: string | undefined;
  /** Socket; empty: none. */
  readonly docker: string;
  readonly network: NonNullable<State['network']>;
  readonly carrier: Carrier;
  /** Absent where NATS is reached from this machine alone. */
  readonly certificate: NatsCertificate | undefined;
}

/** `10.0.0.1:4222`, `[fd00::1]:4222`. */
export const endpointAt = (address: string, port: number | undefined): string => `${address.includes(':') ? `[${address}]` : address}:${port}`;

/** Settings that only the composer can know. What the person set in the environment for them stays in force elsewhere. */
export function runsOf(definitions: readonly ServiceDefinition[], at: RunsOf): ServiceRun[] {
  const { home, nodes, ports, natsUrl, docker, listen, network, carrier } = at;
  const addresses = at.certificate?.addresses ?? [];
  const policy = policyEnv(process.env, ownEndpoints(at, [...addresses, ...allAddresses()]));
  // Stands in the template of pods, which are made anew when it changes.
  const podPolicy = policyEnv(process.env, ownEndpoints(at, addresses));
  const env: Record<string, NodeJS.ProcessEnv> = {
    intake: { ...intakeNetworkEnv(network, process.env), ...policy.intake },
    gateway: { ROUNDSMAN_GATEWAY_PORT: String(ports['gateway']), ROUNDSMAN_GATEWAY_TOKEN_FILE: home.file('token'), ROUNDSMAN_GATEWAY_TLS_FOLDER: home.file('keys', 'gateway') },
    controllers: { ...controllersEnv(at), ...podPolicy.controllers },
  };
  return definitions.flatMap((definition): ServiceRun[] => {
    if (definition.name !== 'node-agent') return [{ definition, env: env[definition.name] ?? {} }];
    return nodes.map((node) => ({
      definition,
      instance: node,
      identity: `agent-${node}`,
      env: {
        ROUNDSMAN_NODE_AGENT_NODE: node,
        // Others must reach its runner and its pods' host ports.
        ...(listen === undefined || process.env['ROUNDSMAN_NODE_AGENT_ADDRESSES'] ? {} : { ROUNDSMAN_NODE_AGENT_ADDRESSES: listen }),
        ROUNDSMAN_NODE_AGENT_SHARE: String(1 / nodes.length),
        ROUNDSMAN_NODE_AGENT_DATA_DIR: home.file('data', 'runners', node),
        ROUNDSMAN_NODE_AGENT_NATS_URL: natsUrl,
        ROUNDSMAN_NODE_AGENT_DOCKER: docker,
        ROUNDSMAN_NODE_AGENT_CLUSTER: home.id,
        ...agentNetworkEnv(network.mode, node === nodes[0], process.env),
        ...(carrier.kind === 'process' ? runnerEnv(home, node) : imagesEnv(carrier.image)),
        // One for the machine.
        ...(node === nodes[0] ? { ROUNDSMAN_NODE_AGENT_INGRESS_ENTRY: ingressEntry, ROUNDSMAN_NODE_AGENT_INGRESS_SEED_FILE: seedFileOf(home, ingressIdentity(node)) } : {}),
        ...(node === nodes[0] && carrier.kind === 'daemonset' ? { ROUNDSMAN_NODE_AGENT_NATS_ENDPOINT_PORT: String(ports['nats']) } : {}),
        ...policy['node-agent'],
      },
    }));
  });
}

/** A runner that its agent keeps as a process. */
const runnerEnv = (home: Home, node: string): NodeJS.ProcessEnv => ({
  ROUNDSMAN_NODE_AGENT_RUNNER_ENTRY: runnerEntry,
  ROUNDSMAN_NODE_AGENT_RUNNER_FLAGS: runnerNodeFlags.join(','),
  ROUNDSMAN_NODE_AGENT_RUNNER_NAME: runnerOf(node),
  ROUNDSMAN_NODE_AGENT_RUNNER_SEED_FILE: seedFileOf(home, runnerIdentity(runnerOf(node), node)),
});

/** Runtimes are made by this cluster's own API. Without pods, too: what was made for them before is removed. */
function controllersEnv({ home, network, carrier, certificate }: RunsOf): NodeJS.ProcessEnv {
  const families = network.podCidr.split(',').map((range) => (range.includes(':') ? 'v6' : 'v4'));
  const noRunnerWait = process.env['ROUNDSMAN_SCHEDULER_NO_RUNNER_WAIT_MS'];
  const settings = {
    ROUNDSMAN_CONTROLLERS_KUBECONFIG: home.kubeconfig,
    ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME: carrier.kind,
    ROUNDSMAN_CONTROLLERS_RUNTIME_FAMILIES: [...new Set(families)].join(','),
    ...(carrier.kind === 'process' || carrier.image === undefined ? {} : { ROUNDSMAN_CONTROLLERS_RUNNER_IMAGE: carrier.image.image }),
    ...(certificate === undefined ? {} : { ROUNDSMAN_CONTROLLERS_RUNNER_NATS_CA_FILE: certificate.files.caFile }),
    ...(noRunnerWait === undefined ? {} : { ROUNDSMAN_CONTROLLERS_NO_RUNNER_WAIT_MS: noRunnerWait }),
    ...(carrier.kind === 'process' ? {} : { ROUNDSMAN_CONTROLLERS_RUNNER_ISSUER_SEED_FILE: issuerSeedFile(home) }),
  };
  // An image that cannot be made decides, whatever was wished.
  return { ...unlessSet(settings, process.env), ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME: carrier.kind };
}

/** NATS and Postgres as probes could reach them, `address:port`; NATS, where others come to it, also at these addresses. */
function ownEndpoints({ ports, certificate }: RunsOf, addresses: readonly string[]): string[] {
  const loopback = ['127.0.0.1', '::1'].flatMap((address) => [ports['nats'], ports['natsMonitor'], ports['postgres']].map((port) => endpointAt(address, port)));
  return [...new Set([...loopback, ...(certificate === undefined ? [] : addresses.map((address) => endpointAt(address, ports['nats'])))])];
}

/** All that this machine has now. */
const allAddresses = (): string[] => Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
