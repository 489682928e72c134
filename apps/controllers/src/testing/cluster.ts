import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isPodReady, kindByGvk, kindByResource, resourceKey, type KubeObject, type Pod } from '@roundsman/api';
import { messages, ServiceError, type Bus, type Write } from '@roundsman/bus';
import type { Cluster } from '@roundsman/cluster';
import { systemClock } from '@roundsman/reconcile';
import { makeLogger, runServices, type RunningServices } from '@roundsman/service';
import { migrateStore, openStore, type Store } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { service, serviceWith } from '../index.ts';
import { FakeNodes } from './fake-nodes.ts';

/**
 * How often loops look at everything, in case a wake-up was lost; milliseconds. Not while tests wait: what a change is to wake would be found by these as well.
 * Those of every minute come too late for that.
 */
const passesMs: ReadonlySet<number> = new Set([15_000, 30_000]);
const { after } = systemClock;
systemClock.after = (ms, call) => (passesMs.has(ms) ? () => undefined : after(ms, call));

const readyMark = '"leading"';
const tester = 'system:roundsman:tester';

/** Namespace of the objects of a test. */
const home = (resource: string): string | undefined => (kindByResource.get(resource)?.namespaced === true ? 'default' : undefined);

/** For a deletion of what may have gone with its owner, or been taken away, before it is asked to. */
export const unlessGone = (error: unknown): void => {
  if (!(error instanceof ServiceError && error.code === 404)) throw error;
};

/** What an instance of the controllers has for its bus. */
type Through = (bus: Bus) => Bus;

/** The controllers with the real intake, NATS and Postgres; nodes, scheduler and pods are doubles. */
export class TestCluster {
  readonly bus: Bus;
  readonly store: Store;
  readonly nodes: FakeNodes;
  readonly nats: TestNats;
  readonly #postgres: TestPostgres;
  readonly #databaseUrl: string;
  readonly #intake: ChildProcess;
  readonly #kubernetes: Cluster | undefined;
  readonly #controllers: RunningServices[] = [];

  private constructor(parts: { bus: Bus; store: Store; nats: TestNats; postgres: TestPostgres; databaseUrl: string; intake: ChildProcess; kubernetes: Cluster | undefined }) {
    this.bus = parts.bus;
    this.store = parts.store;
    this.nats = parts.nats;
    this.#postgres = parts.postgres;
    this.#databaseUrl = parts.databaseUrl;
    this.#intake = parts.intake;
    this.#kubernetes = parts.kubernetes;
    this.nodes = new FakeNodes(parts.bus, parts.store);
  }

  /** `settings`: of the controllers and of intake. `kubernetes`: the API of the kubeconfig that these name. */
  static async start(settings: NodeJS.ProcessEnv = {}, through?: Through, kubernetes?: Cluster): Promise<TestCluster> {
    const [postgres, nats] = await Promise.all([startPostgres({ prepare: migrateStore }), startNats()]);
    const databaseUrl = await postgres.createDatabase();
    const intake = await startIntake(databaseUrl, nats.url, settings);
    const cluster = new TestCluster({ bus: await nats.connect('tester'), store: openStore(databaseUrl), nats, postgres, databaseUrl, intake, kubernetes });
    await cluster.startControllers(settings, through);
    await cluster.nodes.start();
    return cluster;
  }

  /** One more instance; the first leads, the others stand by. Resolves when it knows all there is. `through`: what it has for its bus. */
  async startControllers(settings: NodeJS.ProcessEnv = {}, through: Through = (bus) => bus): Promise<void> {
    const log = makeLogger({
      level: 'info',
      format: 'json',
      stream: {
        write: (line) => {
          const { level, msg } = JSON.parse(line) as { level: number; msg: string };
          this.said.push(msg);
          if (level >= 40) this.warnings.push(line);
        },
      },
    });
    const kubernetes = this.#kubernetes;
    const definition = kubernetes === undefined ? service : serviceWith(() => kubernetes);
    const instance = await runServices([{ definition }], { env: settings, log, databaseUrl: this.#databaseUrl, connect: async (identity) => through(await this.nats.connect(identity)) });
    this.#controllers.push(instance);
    await eventually(() => {
      const { ready, checks } = instance.health.report();
      if (!ready) throw new Error(`the controllers are not ready: ${JSON.stringify(checks)}`);
    });
  }

  /** What the controllers logged at warn and above. */
  readonly warnings: string[] = [];
  /** The messages of all that they logged. */
  readonly said: string[] = [];

  /** Nothing is stored or read from now on, and every lock is lost. */
  async loseDatabase(): Promise<void> {
    await this.#postgres.kill();
  }

  /** The first instance that was started: it leads. */
  async stopControllers(): Promise<void> {
    await this.#controllers.shift()?.stop();
  }

  async stop(): Promise<void> {
    await this.nodes.stop();
    for (const instance of this.#controllers.splice(0)) await instance.stop();
    this.#intake.kill('SIGKILL');
    await Promise.all([this.store.close(), this.bus.close()]);
    await Promise.all([this.nats.stop(), this.#postgres.stop()]);
  }

  async write(write: Write): Promise<KubeObject> {
    const { object } = await this.bus.request(messages.write, {}, { user: tester, ...write });
    return object as unknown as KubeObject;
  }

  /** Of its kind and namespace (default: `default`). */
  async create<T extends KubeObject>(object: { apiVersion: string; kind: string; metadata: object; [member: string]: unknown }): Promise<T> {
    const slash = object.apiVersion.indexOf('/');
    const kind = kindByGvk(slash < 0 ? '' : object.apiVersion.slice(0, slash), object.apiVersion.slice(slash + 1), object.kind);
    if (kind === undefined) throw new Error(`no kind ${object.apiVersion} ${object.kind}`);
    const { namespace } = object.metadata as { namespace?: string };
    return (await this.write({ operation: 'create', resource: resourceKey(kind), ...(kind.namespaced ? { namespace: namespace ?? 'default' } : {}), object })) as T;
  }

  async get<T extends KubeObject>(resource: string, name: string, namespace = home(resource)): Promise<T | undefined> {
    return (await this.store.get(resource, namespace, name)) as T | undefined;
  }

  async list<T extends KubeObject>(resource: string): Promise<T[]> {
    return (await this.store.list(resource)).items as T[];
  }

  /** Changes what is stored by a person's edit, again when somebody else was faster. */
  async edit<T extends KubeObject>(resource: string, name: string, change: (object: T) => void, namespace = home(resource)): Promise<T> {
    for (;;) {
      const object = structuredClone(await this.get<T>(resource, name, namespace));
      if (object === undefined) throw new Error(`no ${resource} ${name}`);
      change(object);
      try {
        return (await this.write({ operation: 'update', resource, ...(namespace === undefined ? {} : { namespace }), name, object: object as unknown as Record<string, unknown> })) as T;
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 409)) throw error;
      }
    }
  }

  async delete(resource: string, name: string, more: Partial<Write> = {}): Promise<void> {
    const namespace = home(resource);
    await this.write({ operation: 'delete', resource, ...(namespace === undefined ? {} : { namespace }), name, ...more });
  }

  async readyPods(): Promise<Pod[]> {
    return (await this.list<Pod>('pods')).filter((pod) => isPodReady(pod) && pod.metadata.deletionTimestamp === undefined);
  }

  /** `reason: message` of the events about an object, oldest first. */
  async events(about: KubeObject): Promise<string[]> {
    const all = await this.list<KubeObject & { involvedObject: { uid: string }; reason: string; message: string; firstTimestamp: string }>('events');
    return all
      .filter(({ involvedObject }) => involvedObject.uid === about.metadata.uid)
      .sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  /** Waits until `look` does not throw; when it always does, says what the controllers complained of. */
  async until<T>(look: () => Promise<T>, within = 30_000): Promise<T> {
    try {
      return await eventually(look, { within });
    } catch (error) {
      const { problems } = this.nodes;
      (error as Error).message += this.warnings.length === 0 ? '' : `\nThe controllers' last complaints:\n${this.warnings.slice(-5).join('')}`;
      (error as Error).message += problems.length === 0 ? '' : `\nThe nodes' last complaints:\n${problems.slice(-5).join('\n')}`;
      throw error;
    }
  }
}

async function startIntake(databaseUrl: string, natsUrl: string, settings: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const file = join(import.meta.dirname, '../../../intake/test/instance.mjs');
  const intake = spawn(process.execPath, [file], { env: { ...process.env, ...settings, NODE_OPTIONS: '', DATABASE_URL: databaseUrl, NATS_URL: natsUrl }, stdio: ['pipe', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: intake.stdout }).on('line', (line) => line.includes(readyMark) && resolve());
    intake.once('exit', (code) => reject(new Error(`intake ended (${code}): is everything built?`)));
  });
  return intake;
}
