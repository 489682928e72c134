import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentIdentity, runnerIdentity, serviceIdentity, type Bus } from '@roundsman/bus';
import { gatewayService, type Listening } from '@roundsman/gateway';
import { service as intake } from '@roundsman/intake';
import { migrateReports } from '@roundsman/reports';
import { runServices, type RunningServices } from '@roundsman/service';
import { migrateStore } from '@roundsman/store';
import { startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { pino, type Logger } from 'pino';
import { stringify } from 'yaml';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Intake and gateway over a real Postgres and a real NATS with the product's permissions; kubectl, in a home of its own. */
export class KubectlCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'roundsman-kubectl-'));
  readonly token = 'a-token-for-this-test-only';
  url = '';
  #intake: RunningServices | undefined;
  #gateway: RunningServices | undefined;

  private constructor(
    readonly nats: TestNats,
    readonly postgres: TestPostgres,
    readonly databaseUrl: string,
    readonly env: NodeJS.ProcessEnv,
  ) {}

  static async start(env: NodeJS.ProcessEnv = {}): Promise<KubectlCluster> {
    const identities = [...(['intake', 'gateway', 'reporter', 'scheduler', 'controllers'] as const).map(serviceIdentity), runnerIdentity('runner-1', 'node-1'), agentIdentity('node-1'), agentIdentity('node-2')];
    const prepare = async (url: string): Promise<void> => {
      await migrateStore(url);
      await migrateReports(url);
    };
    const [nats, postgres] = await Promise.all([startNats({ identities }), startPostgres({ prepare })]);
    const cluster = new KubectlCluster(nats, postgres, await postgres.createDatabase(), env);
    await cluster.startIntake();
    await cluster.startGateway();
    return cluster;
  }

  get kubeconfig(): string {
    return join(this.folder, 'kubeconfig');
  }

  async startIntake(): Promise<void> {
    this.#intake = await runServices([{ definition: intake }], { env: this.env, log: this.#log(), databaseUrl: this.databaseUrl, connect: (identity) => this.nats.connect(identity) });
  }

  async stopIntake(): Promise<void> {
    await this.#intake?.stop();
    this.#intake = undefined;
  }

  /** `wrap` may stand between the gateway and its bus, to lose messages. */
  async startGateway(wrap: (bus: Bus) => Bus = (bus) => bus): Promise<void> {
    const tokenFile = join(this.folder, 'token');
    writeFileSync(tokenFile, `${this.token}\n`, { mode: 0o600 });
    let where: Listening | undefined;
    const definition = gatewayService((found) => (where = found));
    const env = { ...this.env, ROUNDSMAN_GATEWAY_TOKEN_FILE: tokenFile, ROUNDSMAN_GATEWAY_TLS_FOLDER: join(this.folder, 'tls') };
    this.#gateway = await runServices([{ definition }], { env, log: this.#log(), databaseUrl: this.databaseUrl, connect: async (identity) => wrap(await this.nats.connect(identity)) });
    const { url, localUrl, certificateAuthority } = where as unknown as Listening;
    this.url = localUrl;
    this.#writeKubeconfig(url, certificateAuthority ?? '');
  }

  async stopGateway(): Promise<void> {
    await this.#gateway?.stop();
    this.#gateway = undefined;
  }

  async stop(): Promise<void> {
    await this.stopGateway();
    await this.stopIntake();
    await this.nats.stop();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Runs kubectl to its end; a code other than 0 is an answer too. What it waits for has a limit of its own, below the one here. */
  kubectl(args: readonly string[], options: { input?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Ran> {
    return new Promise((resolve) => {
      const child = execFile(kubectlPath(), [...args], { env: this.kubectlEnv(options.env), timeout: 120_000, maxBuffer: 32 << 20 }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      });
      // It may refuse and end before it has read all.
      child.stdin?.on('error', () => undefined).end(options.input ?? '');
    });
  }

  /** kubectl that must succeed; its output. */
  async must(args: readonly string[], options: { input?: string; env?: NodeJS.ProcessEnv } = {}): Promise<string> {
    const ran = await this.kubectl(args, options);
    if (ran.code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
    return ran.stdout;
  }

  kubectlEnv(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'] ?? '', HOME: this.folder, KUBECONFIG: this.kubeconfig, TMPDIR: this.folder, ...more };
  }

  /** One HTTP request with the token. */
  async http(path: string, init: { method?: string; body?: string | Buffer; headers?: Record<string, string>; token?: string | null } = {}): Promise<{ status: number; headers: Headers; text: string; json: Record<string, unknown> }> {
    const token = init.token === undefined ? this.token : init.token;
    const response = await fetch(new URL(path, this.url), {
      method: init.method ?? 'GET',
      headers: { ...(token === null ? {} : { authorization: `Bearer ${token}` }), ...init.headers },
      ...(init.body === undefined ? {} : { body: init.body as string }),
    });
    const text = await response.text();
    let json: Record<string, unknown> = {};
    try {
      json = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // Not every answer is JSON; the test says what it expects.
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  /** A file in the cluster's folder; its path. */
  file(name: string, text: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, text);
    return path;
  }

  #writeKubeconfig(server: string, authority: string): void {
    mkdirSync(this.folder, { recursive: true });
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'roundsman',
      clusters: [{ name: 'roundsman', cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
      users: [{ name: 'roundsman', user: { token: this.token } }],
      contexts: [{ name: 'roundsman', context: { cluster: 'roundsman', user: 'roundsman', namespace: 'default' } }],
    };
    writeFileSync(this.kubeconfig, stringify(config), { mode: 0o600 });
  }

  #log(): Logger {
    return pino({ level: process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent' });
  }
}

/** kubectl of version 1.32, directly where the Cloud SDK's dispatcher has it, else from PATH. */
export function kubectlPath(): string {
  const direct = '/usr/lib/google-cloud-sdk/bin/kubectl.1.32';
  return existsSync(direct) ? direct : 'kubectl';
}
