import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentIdentity, runnerIdentity, serviceIdentity } from '@roundsman/bus';
import { eventually, freePort, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { ServiceProcess } from './service-process.ts';

const services = ['intake', 'reporter', 'scheduler', 'controllers', 'gateway'] as const;

/**
 * The whole product, every service in a process of its own, over a real NATS with the product's permissions and a real
 * Postgres: what a test needs to end one of them and see that nothing is lost. The children end with the test (`stop`).
 */
export class ProductProcesses {
  readonly #folder = mkdtempSync(join(tmpdir(), 'roundsman-processes-'));
  readonly #processes = new Map<string, ServiceProcess>();
  readonly token = 'a-token-for-this-test-only';

  private constructor(
    readonly nats: TestNats,
    readonly postgres: TestPostgres,
    readonly databaseUrl: string,
    readonly url: string,
    readonly runners: readonly string[],
  ) {
    process.once('exit', this.#killAll);
  }

  /** Returns when the gateway is ready and every runner is. `nodes` are names; each gets one runner. */
  static async start(nodes: readonly string[]): Promise<ProductProcesses> {
    const runners = nodes.map((node) => `default-${node}`);
    const identities = [...services.map(serviceIdentity), ...nodes.map(agentIdentity), ...nodes.map((node) => runnerIdentity(`default-${node}`, node))];
    const [nats, postgres, port] = await Promise.all([startNats({ identities }), startPostgres(), freePort()]);
    const product = new ProductProcesses(nats, postgres, await postgres.createDatabase(), `http://127.0.0.1:${port}`, runners);
    try {
      product.#prepare(port, nodes);
      for (const process of product.#processes.values()) process.start();
      await product.ready();
    } catch (error) {
      const logs = product.logs();
      await product.stop();
      throw new Error(`the product did not start:\n${logs}`, { cause: error });
    }
    return product;
  }

  #prepare(port: number, nodes: readonly string[]): void {
    const keys = join(this.#folder, 'keys');
    mkdirSync(keys);
    const seed = (identity: string): string => {
      const file = join(keys, `${identity}.nk`);
      writeFileSync(file, this.nats.seed(identity), { mode: 0o600 });
      return file;
    };
    const tokenFile = join(this.#folder, 'token');
    writeFileSync(tokenFile, this.token, { mode: 0o600 });
    const base = { PATH: process.env['PATH'] ?? '', HOME: this.#folder, ROUNDSMAN_NATS_URL: this.nats.url, ROUNDSMAN_LOG_LEVEL: 'info', ROUNDSMAN_LOG_FORMAT: 'json' };
    const add = (name: string, service: string, env: NodeJS.ProcessEnv): void => {
      this.#processes.set(name, new ServiceProcess(name, service, { ...base, ...env }, join(this.#folder, `${name}.log`)));
    };
    for (const service of services) {
      seed(service);
      add(service, service, {
        ROUNDSMAN_NATS_KEYS: keys,
        ROUNDSMAN_DATABASE_URL: this.databaseUrl,
        ...(service === 'gateway' ? { ROUNDSMAN_GATEWAY_PORT: String(port), ROUNDSMAN_GATEWAY_TOKEN_FILE: tokenFile } : {}),
      });
    }
    for (const node of nodes) {
      const runner = `default-${node}`;
      add(runner, 'probe-runner', {
        ROUNDSMAN_NATS_SEED_FILE: seed(`runner-${runner}`),
        ROUNDSMAN_RUNNER_NAME: runner,
        ROUNDSMAN_NODE: node,
        ROUNDSMAN_DATA_DIR: join(this.#folder, runner),
      });
    }
  }

  /** The gateway answers ready, and every runner is ready in it: the processes that run now, not those that were killed a moment ago. */
  async ready(): Promise<void> {
    await eventually(
      async () => {
        const list = await this.request('GET', '/apis/roundsman.io/v1/runners');
        const items = (list.json['items'] ?? []) as { metadata: { name: string }; status?: { ready: boolean; instance: string } }[];
        const ready = items.filter(({ metadata: { name }, status }) => status?.ready === true && status.instance === this.#instanceOf(name)).map(({ metadata }) => metadata.name);
        const missing = this.runners.filter((runner) => !ready.includes(runner));
        if (missing.length > 0) throw new Error(`not ready: ${missing.join(', ')} (gateway answers ${list.status})`);
      },
      { within: 180_000 },
    );
  }

  /** Of the present process of a runner, as it said when it was up. */
  #instanceOf(runner: string): string | undefined {
    const line = this.#processes.get(runner)?.logOfThisRun().find((text) => text.includes('"runner is up"'));
    return line === undefined ? undefined : (JSON.parse(line) as { instance: string }).instance;
  }

  /** One request with the token; rejects when the gateway cannot be reached. */
  async request(method: string, path: string, body?: unknown): Promise<{ status: number; json: Record<string, unknown> }> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(15_000),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  /** SIGKILL: the process has no say in it. */
  async kill(name: string): Promise<void> {
    await this.#named(name).kill('SIGKILL');
  }

  restart(name: string): void {
    this.#named(name).start();
  }

  /** Services that ended by themselves: none should, whatever happens around them. */
  dead(): string[] {
    return [...this.#processes.values()].filter((process) => !process.running).map(({ name }) => name);
  }

  get names(): string[] {
    return [...this.#processes.keys()];
  }

  /** The last lines of every log. */
  logs(lines = 15): string {
    return [...this.#processes.values()].map((process) => process.lastWords(lines)).join('\n');
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#processes.values()].filter((process) => process.running).map((process) => process.kill('SIGKILL')));
    process.removeListener('exit', this.#killAll);
    await this.nats.stop();
    await this.postgres.stop();
    rmSync(this.#folder, { recursive: true, force: true });
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
