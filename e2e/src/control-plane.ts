import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeObject, Round, WorkOrder } from '@roundsman/api';
import { agentIdentity, messages, runnerConsumeOptions, runnerIdentity, serviceIdentity, type Bus, type Subscription } from '@roundsman/bus';
import { service as controllers } from '@roundsman/controllers';
import { service as intake } from '@roundsman/intake';
import { service as scheduler } from '@roundsman/scheduler';
import { runServices, type RunningServices } from '@roundsman/service';
import { migrateStore, openStore, type Store } from '@roundsman/store';
import { eventually, startNats, startPostgres, type TestNats, type TestPostgres } from '@roundsman/testkit';
import { pino } from 'pino';

const definitions = { intake, scheduler, controllers };
type ServiceName = keyof typeof definitions;

export interface Ran {
  readonly runner: string;
  readonly order: WorkOrder;
  /** When it came. */
  readonly takenMs: number;
  canceled?: boolean;
}

/** A probe-runner without probes: heartbeats, takes work once, says when it is done. */
export class FakeRunner {
  readonly ran: Ran[] = [];
  /** Work that came again and was answered from memory. */
  repeated = 0;
  /** Milliseconds a round takes. */
  takesMs = 50;
  silent = false;
  /** Rounds it claims to run besides those it does. */
  claims: { taskUid: string; round: number }[] = [];
  /** Rounds it was told to stop. */
  readonly stopped: string[] = [];
  instance = crypto.randomUUID();
  readonly #running = new Map<string, { ran: Ran; stop: AbortController }>();
  #subscriptions: Subscription[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(
    readonly name: string,
    readonly node: string,
    readonly bus: Bus,
    readonly done: (ran: Ran) => void,
  ) {}

  async start(): Promise<void> {
    this.#beat();
    this.#timer = setInterval(() => this.#beat(), 200);
    await this.listen();
  }

  /** Takes work, and hears what it is to stop. */
  async listen(): Promise<void> {
    this.#subscriptions = [
      await this.bus.subscribe(messages.nodeCancel, { node: this.node }, ({ payload: { taskUid, round } }) => {
        this.stopped.push(`${taskUid}/${round}`);
        for (const { ran, stop } of this.#running.values()) {
          if (ran.order.taskUid !== taskUid || (round !== undefined && ran.order.round !== round)) continue;
          ran.canceled = true;
          stop.abort();
        }
      }),
      await this.bus.consume(messages.work, runnerConsumeOptions(this.name), async (batch) => {
        for (const delivery of batch) {
          this.#take(delivery.payload);
          await delivery.ack();
        }
      }),
    ];
  }

  /** Takes no work until it listens again; its heart beats on. */
  async deafen(): Promise<void> {
    await Promise.all(this.#subscriptions.splice(0).map((subscription) => subscription.stop()));
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const { stop } of this.#running.values()) stop.abort();
    await this.deafen();
  }

  #beat(): void {
    if (this.silent) return;
    this.bus.publish(messages.runnerBeat, { node: this.node, runner: this.name }, {
      runner: this.name,
      node: this.node,
      runtime: 'default',
      instance: this.instance,
      sentAt: new Date().toISOString(),
      version: '0.1.0',
      ready: true,
      addresses: [{ family: 'v4', address: '127.0.0.1' }],
      ports: { http: 8080, https: 8443, dns: 8053, dot: 8853, udp: 8000 },
      running: [...this.claims, ...[...this.#running.values()].map(({ ran: { order } }) => ({ taskUid: order.taskUid, round: order.round }))],
      capacityQps: 1000,
    });
  }

  #take(order: WorkOrder): void {
    const key = `${order.taskUid}/${order.round}`;
    if (this.#running.has(key) || this.ran.some((one) => `${one.order.taskUid}/${one.order.round}` === key)) {
      this.repeated += 1;
      return;
    }
    const ran: Ran = { runner: this.name, order, takenMs: Date.now() };
    this.ran.push(ran);
    const stop = new AbortController();
    const { signal } = stop;
    this.#running.set(key, { ran, stop });
    void sleep(Math.max(0, Date.parse(order.roundStart) - Date.now()), undefined, { signal })
      .then(() => sleep(this.takesMs, undefined, { signal }))
      .catch(() => undefined)
      .then(() => {
        this.#running.delete(key);
        this.done(ran);
      });
  }
}

/** Real NATS with the product's permissions, real Postgres, the real control plane; runners and reporter are stand-ins. */
export class ControlPlane {
  readonly runners: FakeRunner[] = [];
  readonly #outcomes = new Map<string, Map<string, Ran>>();
  readonly #services = new Map<string, RunningServices>();
  #reporting = true;
  #closing: Promise<void> = Promise.resolve();

  private constructor(
    readonly nats: TestNats,
    readonly postgres: TestPostgres,
    readonly databaseUrl: string,
    readonly store: Store,
    /** As the gateway: writes of a person. */
    readonly gateway: Bus,
    readonly reporter: Bus,
    readonly env: NodeJS.ProcessEnv,
  ) {}

  /** Without `controllers` the test tells of runners and runtimes itself. */
  static async start(runnerNames: string[] = ['runner-1', 'runner-2'], env: NodeJS.ProcessEnv = {}, without: { controllers?: false } = {}): Promise<ControlPlane> {
    const identities = [...(['intake', 'scheduler', 'controllers', 'gateway', 'reporter'] as const).map(serviceIdentity), agentIdentity('node-1'), ...runnerNames.map((name) => runnerIdentity(name, name.replace('runner', 'node')))];
    const [nats, postgres] = await Promise.all([startNats({ identities }), startPostgres({ prepare: migrateStore })]);
    const databaseUrl = await postgres.createDatabase();
    const plane = new ControlPlane(nats, postgres, databaseUrl, openStore(databaseUrl), await nats.connect('gateway'), await nats.connect('reporter'), env);
    await plane.run('intake');
    await Promise.all([plane.run('scheduler'), ...(without.controllers === false ? [] : [plane.run('controllers')])]);
    for (const name of runnerNames) {
      const runner = new FakeRunner(name, name.replace('runner', 'node'), await nats.connect(`runner-${name}`), (ran) => plane.#done(ran));
      plane.runners.push(runner);
      await runner.start();
    }
    plane.#closing = plane.#closeRounds();
    if (without.controllers === false) return plane;
    await eventually(async () => (await plane.list('runners.roundsman.io')).filter(({ status }) => (status as { ready?: boolean }).ready).length === runnerNames.length);
    return plane;
  }

  async stop(): Promise<void> {
    this.#reporting = false;
    await this.#closing;
    for (const runner of this.runners) await runner.stop();
    for (const as of [...this.#services.keys()].reverse()) await this.halt(as);
    await this.store.close();
    await this.nats.stop();
    await this.postgres.stop();
  }

  /** `as` tells several of one service apart; `env` is for this one alone. */
  async run(name: ServiceName, as: string = name, env: NodeJS.ProcessEnv = {}): Promise<void> {
    const log = pino({ level: process.env['ROUNDSMAN_TEST_LOG'] ?? 'silent' }).child({ as });
    this.#services.set(as, await runServices([{ definition: definitions[name] }], { env: { ...this.env, ...env }, log, databaseUrl: this.databaseUrl, connect: (identity) => this.nats.connect(identity) }));
  }

  async halt(as: string): Promise<void> {
    await this.#services.get(as)?.stop();
    this.#services.delete(as);
  }

  /** A metric of one service, summed over its labels that contain `labels`. */
  async metric(as: string, name: string, labels: Record<string, string> = {}): Promise<number> {
    const metric = await this.#services.get(as)?.metrics.getSingleMetric(name)?.get();
    const wanted = Object.entries(labels);
    return (metric?.values ?? []).filter((value) => wanted.every(([key, text]) => String(value.labels[key]) === text)).reduce((sum, { value }) => sum + value, 0);
  }

  /** Problems of the services' health checks, violations of NATS permissions among them. */
  problems(): string[] {
    return [...this.#services.values()].flatMap(({ health }) => health.report().checks.flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`])));
  }

  async create(resource: string, object: Record<string, unknown> & { metadata: { name: string; annotations?: Record<string, string> } }): Promise<KubeObject> {
    const reply = await this.gateway.request(messages.write, {}, { operation: 'create', resource, namespace: 'default', object, user: 'tester' });
    return reply.object as unknown as KubeObject;
  }

  /** Reads, changes, writes; again on a conflict. */
  async edit(resource: string, name: string, change: (object: KubeObject) => void, namespace = resource === 'nodes' ? undefined : 'default'): Promise<KubeObject> {
    return eventually(async () => {
      const object = structuredClone(await this.get(resource, name, namespace ?? ''));
      change(object);
      const reply = await this.gateway.request(messages.write, {}, { operation: 'update', resource, ...(namespace === undefined ? {} : { namespace }), name, object: object as unknown as Record<string, unknown>, user: 'tester' });
      return reply.object as unknown as KubeObject;
    }, { within: 60_000 });
  }

  async remove(resource: string, name: string): Promise<void> {
    await this.gateway.request(messages.write, {}, { operation: 'delete', resource, namespace: 'default', name, user: 'tester' });
  }

  async get<T extends KubeObject = KubeObject>(resource: string, name: string, namespace = 'default'): Promise<T> {
    const object = await this.store.get(resource, namespace, name);
    if (object === undefined) throw new Error(`${resource} ${name} does not exist`);
    return object as T;
  }

  async list<T extends KubeObject = KubeObject>(resource: string): Promise<T[]> {
    return (await this.store.list(resource)).items as T[];
  }

  /** Rounds of one task, by number. */
  async rounds(taskUid: string): Promise<Round[]> {
    return (await this.list<Round>('rounds.roundsman.io')).filter(({ spec }) => spec.taskRef.uid === taskUid).sort((a, b) => a.spec.number - b.spec.number);
  }

  ran(taskUid: string): Ran[] {
    return this.runners.flatMap(({ ran }) => ran.filter(({ order }) => order.taskUid === taskUid));
  }

  #done(ran: Ran): void {
    const key = `${ran.order.taskUid}/${ran.order.round}`;
    this.#outcomes.set(key, (this.#outcomes.get(key) ?? new Map()).set(ran.runner, ran));
  }

  /** The reporter's part: closes what all expected runners have ended, or whose time is over. */
  async #closeRounds(): Promise<void> {
    while (this.#reporting) {
      await sleep(50);
      for (const round of await this.list<Round>('rounds.roundsman.io').catch(() => [])) await this.#closeRound(round).catch(() => undefined);
    }
  }

  async #closeRound(round: Round): Promise<void> {
    const { spec, status } = round;
    if (status?.closedAt !== undefined) return;
    const outcomes = this.#outcomes.get(`${spec.taskRef.uid}/${spec.number}`) ?? new Map<string, Ran>();
    const pending = spec.runners.filter(({ runner, notReady }) => notReady === undefined && !outcomes.has(runner));
    const missed = spec.trigger === 'missed';
    if (!missed && pending.length > 0 && Date.now() < Date.parse(spec.deadline)) return;
    if (!missed && Date.now() < Date.parse(spec.startTime)) return;
    const missing = spec.runners.filter(({ runner }) => !outcomes.has(runner)).map(({ runner, node, notReady }) => ({ runner, node, reason: notReady ?? 'silent' }));
    const state = missed ? 'missed' : spec.cancel === true ? 'canceled' : missing.length > 0 ? 'fail' : 'succeed';
    await this.reporter.request(messages.write, {}, {
      operation: 'updateStatus',
      resource: 'rounds.roundsman.io',
      ...(round.metadata.namespace === undefined ? {} : { namespace: round.metadata.namespace }),
      name: round.metadata.name,
      object: { ...round, metadata: { name: round.metadata.name, namespace: round.metadata.namespace }, status: { state, closedAt: new Date().toISOString(), summary: `round is ${state}`, succeeded: [...outcomes.keys()].map((runner) => runner.replace('runner', 'node')), failed: [], missing } } as unknown as Record<string, unknown>,
      user: 'system:roundsman:reporter',
    });
  }
}
