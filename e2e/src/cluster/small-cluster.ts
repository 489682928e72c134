import { execFile, execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Node } from '@roundsman/api';
import { agentIdentity, ingressIdentity, serviceIdentity } from '@roundsman/bus';
import { ProcessRuntime } from '@roundsman/containers';
import { ingressEntry } from '@roundsman/ingress';
import { removeForwarding, removeNetwork } from '@roundsman/node-agent';
import { eventually, freePort, ownNumber, startDocker, startMachines, startNats, startPostgres, testImages, type TestDocker, type TestMachine, type TestMachines, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { stringify } from 'yaml';
import { kubectlPath, type Ran } from '../kubectl-cluster.ts';
import { ServiceProcess } from '../service-process.ts';
import { natsCertificate, runnerImage, type RunnerImage } from './runners.ts';

const controlPlane = ['intake', 'reporter', 'scheduler', 'controllers', 'gateway'] as const;

/** Of a container, from Docker itself. */
export interface Inspected {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Running: boolean; readonly OOMKilled: boolean; readonly ExitCode: number; readonly Pid: number };
  readonly Config: { readonly Image: string; readonly Cmd: string[] | null; readonly Entrypoint: string[] | null; readonly Env: string[]; readonly WorkingDir: string; readonly User: string; readonly Labels: Record<string, string> };
  readonly HostConfig: Record<string, unknown>;
  readonly Mounts: { readonly Source: string; readonly Destination: string; readonly RW: boolean }[];
}

/** Addresses of a cluster: of its own, because several may run on this machine at once. None of those that daemons, machines and single nodes of tests have. */
export interface Ranges {
  readonly pods: string;
  readonly services: string;
  readonly loadBalancers: string;
}

export const randomRanges = (): Ranges => ({
  pods: `10.${ownNumber(60, 88)}.${randomInt(16) * 16}.0/20`,
  services: `10.${ownNumber(100, 128)}.${randomInt(16) * 16}.0/20`,
  loadBalancers: `10.${ownNumber(128, 140)}.${randomInt(256)}.0/24`,
});

/** Times of readiness probes: a server that is ready is so soon, and, on a machine however busy, stays so. */
export const steady = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 30 };

/** Pods may come: taints that kept them away are taken off only after what they say is over. */
function isOpen({ spec, status }: Node): boolean {
  const holds = (wanted: string): string | undefined => status?.conditions?.find(({ type }) => type === wanted)?.status;
  return holds('Ready') === 'True' && holds('NetworkUnavailable') === 'False' && !(spec.taints ?? []).some(({ key }) => key.startsWith('node.kubernetes.io/'));
}

/** The AGE of a table, as a regular expression: kubectl writes minutes, too, from two of them on. */
export const age = '\\d+[ms]\\S*';

export interface ClusterOptions {
  /** Nodes that are started later: their keys are known. */
  readonly later?: readonly string[];
  /** Environment of the services of the control plane. */
  readonly settings?: NodeJS.ProcessEnv;
  /** Every node is a machine of its own, with its own Docker daemon. Default: all nodes share this machine, each in a network namespace. */
  readonly machines?: boolean;
  /** Every machine has an ingress proxy. */
  readonly ingress?: boolean;
  /** Tasks are carried by workloads: the controllers have a kubeconfig of this cluster, its nodes the image of runners, and NATS lets runners in pods in, by TLS. Not with `machines`. */
  readonly runtimes?: boolean;
}

/** What runners in pods need. */
interface Runners {
  readonly image: RunnerImage;
  readonly issuerSeedFile: string;
  readonly natsCaFile: string;
}

/**
 * The small cluster as a person would have it: a control plane and the agents of some nodes, every one a process of its own, over a real NATS, a
 * real Postgres and a real Docker daemon that the nodes share; driven by the real kubectl.
 */
export class SmallCluster {
  readonly token = 'a-token-for-this-test-only';
  readonly ranges = randomRanges();
  /** As a home has one: what the cluster makes on a machine carries it. */
  readonly id = `e2e-${Math.random().toString(36).slice(2, 10)}`;
  readonly #processes = new Map<string, ServiceProcess>();
  readonly #machines = new Map<string, { readonly machine: TestMachine; readonly docker: TestDocker }>();
  /** The node whose agent looks after the machine that all share. */
  #keeper: string | undefined;
  #ingress = false;
  #runners: Runners | undefined;

  private constructor(
    readonly folder: string,
    readonly nats: TestNats,
    readonly postgres: TestPostgres,
    /** That the nodes share; where each is a machine: that of the first. */
    readonly docker: TestDocker,
    readonly databaseUrl: string,
    readonly port: number,
    readonly network: TestMachines | undefined,
  ) {
    process.once('exit', this.#killAll);
  }

  /** Returns when all nodes are Ready, with their networks. */
  static async start(nodes: readonly string[], { later = [], settings = {}, machines = false, ingress = false, runtimes = false }: ClusterOptions = {}): Promise<SmallCluster> {
    const identities = [...controlPlane.map(serviceIdentity), ...[...nodes, ...later].flatMap((node) => [agentIdentity(node), ingressIdentity(node)])];
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-cluster-'));
    const tls = runtimes ? await natsCertificate(join(folder, 'nats-tls')) : undefined;
    const image = runtimes ? await runnerImage() : undefined;
    const network = machines ? await startMachines(nodes.length + later.length) : undefined;
    const dockersOf = (): Promise<TestDocker[]> => (network === undefined ? startDocker({ liveRestore: true }).then((one) => [one]) : Promise.all(network.machines.map((machine) => machine.startDocker({ liveRestore: true }))));
    const [nats, postgres, dockers, port] = await Promise.all([startNats({ identities, ...(machines || runtimes ? { host: '0.0.0.0' } : {}), ...(tls === undefined ? {} : { tls, issuer: true }) }), startPostgres(), dockersOf(), freePort()]);
    const cluster = new SmallCluster(folder, nats, postgres, dockers[0]!, await postgres.createDatabase(), port, network);
    for (const [index, node] of [...nodes, ...later].entries()) if (network !== undefined) cluster.#machines.set(node, { machine: network.machines[index]!, docker: dockers[index]! });
    cluster.#ingress = ingress;
    if (tls !== undefined && image !== undefined) cluster.#runners = { image, natsCaFile: tls.caFile, issuerSeedFile: cluster.#keyFile('issuer', nats.issuerSeed) };
    try {
      for (const docker of dockers) await testImages(docker);
      for (const service of controlPlane) cluster.#addService(service, settings);
      for (const node of nodes) cluster.addNode(node);
      await cluster.ready(nodes);
    } catch (error) {
      const logs = cluster.logs();
      await cluster.stop();
      throw new Error(`the cluster did not start:\n${logs}`, { cause: error });
    }
    return cluster;
  }

  /** The gateway answers, and these nodes are Ready and take pods. */
  async ready(nodes: readonly string[]): Promise<void> {
    await eventually(() => this.#writeKubeconfig(), { within: 150_000 });
    await eventually(
      async () => {
        const { items } = await this.get<{ items: Node[] }>('nodes');
        const open = items.filter(isOpen).map(({ metadata }) => metadata.name);
        const missing = nodes.filter((node) => !open.includes(node));
        if (missing.length > 0) throw new Error(`not ready: ${missing.join(', ')} of ${JSON.stringify(items.map(({ metadata, spec, status }) => [metadata.name, spec.taints, status?.conditions]))}`);
      },
      { within: 120_000 },
    );
  }

  /** Starts the agent of a node. */
  addNode(name: string, env: NodeJS.ProcessEnv = {}): void {
    const own = this.#machines.get(name);
    this.#keeper ??= name;
    const place =
      own === undefined
        ? { ROUNDSMAN_NODE_AGENT_NETWORK: 'namespace', ROUNDSMAN_NODE_AGENT_MACHINE: String(this.#keeper === name) }
        : { ROUNDSMAN_NODE_AGENT_NETWORK: 'machine', ROUNDSMAN_NATS_URL: this.nats.url.replace('127.0.0.1', this.network?.uplink ?? '') };
    const ingress = this.#ingress && (own !== undefined || this.#keeper === name) ? { ROUNDSMAN_NODE_AGENT_INGRESS_ENTRY: ingressEntry, ROUNDSMAN_NODE_AGENT_INGRESS_SEED_FILE: this.#seedFile(ingressIdentity(name).name) } : {};
    const runners = this.#runners === undefined ? {} : { ROUNDSMAN_NODE_AGENT_IMAGE_ARCHIVES: this.#runners.image.archive, ...(this.#keeper === name ? { ROUNDSMAN_NODE_AGENT_NATS_ENDPOINT_PORT: String(this.nats.port) } : {}) };
    const settings = {
      ROUNDSMAN_NODE_AGENT_NODE: name,
      ROUNDSMAN_NODE_AGENT_DATA_DIR: join(this.folder, 'nodes', name),
      ROUNDSMAN_NODE_AGENT_DOCKER: this.dockerOf(name).socket,
      ROUNDSMAN_NODE_AGENT_CLUSTER: this.id,
      ROUNDSMAN_NODE_AGENT_NATS_URL: own === undefined ? this.nats.url : this.nats.url.replace('127.0.0.1', this.network?.uplink ?? ''),
      ROUNDSMAN_NODE_AGENT_ADDRESSES: own?.machine.address ?? this.docker.gateway,
      ROUNDSMAN_NODE_AGENT_CPU: '2',
      ROUNDSMAN_NODE_AGENT_MEMORY_MI: '2048',
      ...place,
      ...ingress,
      ...runners,
      ...env,
    };
    this.#start(`agent-${name}`, 'node-agent', settings, own?.machine.namespace);
  }

  /** Of a node that is a machine of its own. */
  machine(node: string): TestMachine {
    const own = this.#machines.get(node);
    if (own === undefined) throw new Error(`${node} is no machine of its own`);
    return own.machine;
  }

  /** That the pods of a node run on. */
  dockerOf(node: string): TestDocker {
    return this.#machines.get(node)?.docker ?? this.docker;
  }

  /** Image of the runners, of a cluster with runtimes: `name:tag`. */
  get runnerImage(): string {
    return this.#runners?.image.reference ?? '';
  }

  /** Every process but those of the nodes. */
  get controlPlane(): string[] {
    return [...controlPlane];
  }

  /** SIGKILL: they have no say in it. */
  async kill(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#named(name).kill('SIGKILL')));
  }

  restart(names: readonly string[]): void {
    for (const name of names) this.#named(name).start();
  }

  /** Starts a service again with other settings. */
  async change(name: string, settings: NodeJS.ProcessEnv): Promise<void> {
    const process = this.#named(name);
    await process.kill('SIGTERM');
    Object.assign(process.env, settings);
    process.start();
  }

  /** Those that ended by themselves: none should. */
  dead(): string[] {
    return [...this.#processes.values()].filter((process) => !process.running).map(({ name }) => name);
  }

  /** The last lines of every log. */
  logs(lines = 15): string {
    return [...this.#processes.values()].map((process) => process.lastWords(lines)).join('\n');
  }

  /** Runs kubectl to its end; a code other than 0 is an answer too. */
  kubectl(args: readonly string[], { input = '', timeoutMs = 90_000 }: { input?: string; timeoutMs?: number } = {}): Promise<Ran> {
    const env = { PATH: process.env['PATH'] ?? '', HOME: this.folder, KUBECONFIG: this.#kubeconfig, TMPDIR: this.folder };
    return new Promise((resolve) => {
      const child = execFile(kubectlPath(), [...args], { env, timeout: timeoutMs, maxBuffer: 32 << 20 }, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr });
      });
      child.stdin?.end(input);
    });
  }

  /** kubectl that must succeed; its output. */
  async must(args: readonly string[], options: { input?: string; timeoutMs?: number } = {}): Promise<string> {
    const ran = await this.kubectl(args, options);
    if (ran.code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${ran.code}\n${ran.stdout}\n${ran.stderr}${args[0] === 'wait' || args[0] === 'rollout' ? await this.#situation() : ''}`);
    return ran.stdout;
  }

  /** Why something did not come about in time. */
  async #situation(): Promise<string> {
    const looks = await Promise.all([['get', 'pods,nodes', '-o', 'wide'], ['get', 'events', '--sort-by=.lastTimestamp']].map((args) => this.kubectl(args)));
    return [...looks.map(({ stdout, stderr }) => stdout + stderr), this.logs(10)].join('\n');
  }

  async apply(...manifests: readonly object[]): Promise<string> {
    return this.must(['apply', '-f', '-'], { input: manifests.map((manifest) => stringify(manifest)).join('---\n') });
  }

  async get<T>(...args: readonly string[]): Promise<T> {
    return JSON.parse(await this.must(['get', ...args, '-o', 'json'])) as T;
  }

  /** What Docker says of the container of a pod: what was asked for has to be found there. */
  async inspect(pod: string, container: string): Promise<Inspected> {
    const id = await this.must(['get', 'pod', pod, '-o', `jsonpath={.status.containerStatuses[?(@.name=="${container}")].containerID}`]);
    const docker = this.network === undefined ? this.docker : this.dockerOf(await this.must(['get', 'pod', pod, '-o', 'jsonpath={.spec.nodeName}']));
    return (await docker.request('GET', `/containers/${id.replace('docker://', '')}/json`)) as Inspected;
  }

  async stop(): Promise<void> {
    const running = [...this.#processes.values()].filter((process) => process.running);
    await Promise.all(running.map((process) => process.kill('SIGKILL')));
    // Ingress proxies outlive agents that are killed.
    for (const { service, env } of this.#processes.values()) {
      if (this.#ingress && service === 'node-agent') await new ProcessRuntime(join(env['ROUNDSMAN_NODE_AGENT_DATA_DIR'] ?? '', 'containers')).stop('ingress', 0);
    }
    process.removeListener('exit', this.#killAll);
    if (this.network === undefined) {
      await this.docker.stop();
      await removeForwarding(this.id, []);
      await removeNetwork(this.id);
    } else await this.network.stop();
    await this.nats.stop();
    await this.postgres.stop();
    unmountBelow(this.folder);
    // What was killed just now may have written a last file.
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #addService(service: (typeof controlPlane)[number], settings: NodeJS.ProcessEnv): void {
    const tokenFile = join(this.folder, 'token');
    writeFileSync(tokenFile, this.token, { mode: 0o600 });
    const gateway = { ROUNDSMAN_GATEWAY_PORT: String(this.port), ROUNDSMAN_GATEWAY_TOKEN_FILE: tokenFile, ROUNDSMAN_GATEWAY_TLS_FOLDER: join(this.folder, 'tls') };
    const { pods, services, loadBalancers } = this.ranges;
    const intake = { ROUNDSMAN_INTAKE_POD_CIDRS: pods, ROUNDSMAN_INTAKE_SERVICE_CIDRS: services, ROUNDSMAN_INTAKE_LOAD_BALANCER_CIDRS: loadBalancers };
    const own: Partial<Record<typeof service, NodeJS.ProcessEnv>> = { gateway, intake, controllers: this.#runtimeSettings() };
    this.#start(service, service, { ROUNDSMAN_DATABASE_URL: this.databaseUrl, ...own[service], ...settings });
  }

  #runtimeSettings(): NodeJS.ProcessEnv {
    if (this.#runners === undefined) return {};
    const { image, issuerSeedFile, natsCaFile } = this.#runners;
    return {
      ROUNDSMAN_CONTROLLERS_KUBECONFIG: this.#kubeconfig,
      ROUNDSMAN_CONTROLLERS_DEFAULT_RUNTIME: 'daemonset',
      ROUNDSMAN_CONTROLLERS_RUNNER_IMAGE: image.reference,
      ROUNDSMAN_CONTROLLERS_RUNNER_ISSUER_SEED_FILE: issuerSeedFile,
      ROUNDSMAN_CONTROLLERS_RUNNER_NATS_CA_FILE: natsCaFile,
    };
  }

  #start(name: string, service: string, env: NodeJS.ProcessEnv, namespace?: string): void {
    const keys = dirname(this.#seedFile(name));
    const base = { PATH: process.env['PATH'] ?? '', HOME: this.folder, ROUNDSMAN_NATS_URL: this.nats.url, ROUNDSMAN_NATS_KEYS: keys, ROUNDSMAN_LOG_FORMAT: 'json' };
    const started = new ServiceProcess(name, service, { ...base, ...env }, join(this.folder, `${name}.log`), namespace);
    this.#processes.set(name, started);
    started.start();
  }

  #seedFile(identity: string): string {
    return this.#keyFile(identity, this.nats.seed(identity));
  }

  #keyFile(name: string, seed: string): string {
    const file = join(this.folder, 'keys', `${name}.nk`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, seed, { mode: 0o600 });
    return file;
  }

  get #kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  #writeKubeconfig(): void {
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'roundsman',
      clusters: [{ name: 'roundsman', cluster: { server: `https://127.0.0.1:${this.port}`, 'certificate-authority-data': readFileSync(join(this.folder, 'tls', 'ca.crt')).toString('base64') } }],
      users: [{ name: 'roundsman', user: { token: this.token } }],
      contexts: [{ name: 'roundsman', context: { cluster: 'roundsman', user: 'roundsman', namespace: 'default' } }],
    };
    writeFileSync(this.#kubeconfig, stringify(config), { mode: 0o600 });
  }

  readonly #killAll = (): void => {
    for (const process of this.#processes.values()) if (process.running) void process.kill('SIGKILL');
  };

  #named(name: string): ServiceProcess {
    const process = this.#processes.get(name);
    if (!process) throw new Error(`no process is called ${name}`);
    return process;
  }
}

/** Volumes in memory (Secrets) of pods whose agents were killed. */
function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n').flatMap((line) => line.split(' ')[1] ?? []);
  for (const mount of mounts.filter((path) => path.startsWith(`${folder}/`)).reverse()) execFileSync('umount', ['-l', mount]);
}
