import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { messages, onReconnect, runnerConsumeOptions, type Bus, type Subscription } from '@roundsman/bus';
import { compilePolicy, type PolicySettings } from '@roundsman/probes';
import type { RunnerConfig } from './config.ts';
import type { EchoTarget } from './echo/target.ts';
import { messageOf, type RunnerLog } from './log.ts';
import { Admission } from './round/admission.ts';
import { Rounds } from './round/rounds.ts';
import { runnerEcho } from './runner-echo.ts';
import { DoneList } from './spool/done-list.ts';
import { Journal } from './spool/journal.ts';
import { Sender } from './spool/sender.ts';
import { Spool } from './spool/spool.ts';

/** While rounds are held: a lost cancel is sent again by what the beats list. Without rounds half as often will do. */
const beatEveryMs = 1_000;
const idleBeatEveryMs = 2_000;
/** How long a runner that will not come back waits for NATS to take its results. */
const flushMs = 10_000;

export interface RunnerOptions {
  readonly config: RunnerConfig;
  readonly bus: Bus;
  readonly log: RunnerLog;
  readonly version: string;
  /** Its echo target, when it listens already. */
  readonly echo?: EchoTarget;
  /** What measures a round; the app's own thread when not given. */
  readonly script?: URL;
}

/** One probe-runner: echo target, heartbeats, rounds, spool. Knows neither Nest nor Prometheus, so that it stays small. */
export class Runner {
  readonly echo: EchoTarget;
  readonly spool: Spool;
  readonly sender: Sender;
  readonly rounds: Rounds;
  readonly admission: Admission;
  /** Changes with every start. */
  readonly instance = randomUUID();
  readonly #options: RunnerOptions;
  readonly #done: DoneList;
  readonly #journal: Journal;
  readonly #subscriptions: Subscription[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #offReconnect: () => void = () => undefined;
  #state: 'starting' | 'running' | 'stopping' = 'starting';

  constructor(options: RunnerOptions) {
    const { config, bus, log, script } = options;
    this.#options = options;
    const policy: PolicySettings = { deny: config.deny, denyEndpoints: config.denyEndpoints, allow: config.allow };
    // Wrong settings stop the runner now, not its first round.
    compilePolicy(policy);
    this.echo = options.echo ?? runnerEcho(config, log);
    this.spool = new Spool({ folder: join(config.dataDir, 'spool'), maxBytes: config.spoolMaxBytes, log });
    this.#done = new DoneList(join(config.dataDir, 'done'));
    this.#journal = new Journal(join(config.dataDir, 'begun'), log);
    this.sender = new Sender({ bus, spool: this.spool, done: this.#done, runner: config.name, keepMs: config.keepCommittedSeconds * 1_000, log });
    this.admission = new Admission(config.capacityQps, config.maxRounds);
    const { maxDeliver } = runnerConsumeOptions(config.name);
    this.rounds = new Rounds({
      bus, log, policy, maxDeliver,
      spool: this.spool, done: this.#done, journal: this.#journal, sender: this.sender, admission: this.admission, heapMb: config.roundHeapMb,
      ...(script === undefined ? {} : { script }),
    });
  }

  /** Resolves when the echo target listens, the first heartbeat is out, and work is taken. */
  async start(): Promise<void> {
    const { config, bus, log } = this.#options;
    await Promise.all([this.spool.open(), this.#done.open()]);
    const begun = await this.#journal.open();
    await this.echo.start();
    this.#state = 'running';
    this.#beat();
    let idleFor = 0;
    this.#every(beatEveryMs, () => {
      idleFor = this.rounds.held().length > 0 ? idleBeatEveryMs : idleFor + beatEveryMs;
      if (idleFor < idleBeatEveryMs) return;
      idleFor = 0;
      this.#beat();
    });
    this.sender.start();
    this.#offReconnect = onReconnect(bus, () => this.sender.reconnected());
    if (this.spool.pending > 0) log.info({ results: this.spool.pending, bytes: this.spool.bytes }, 'results of an earlier run are sent again');
    for (const { order, attempts } of begun) this.rounds.resume(order, attempts);
    const work = runnerConsumeOptions(config.name);
    this.#subscriptions.push(
      await bus.subscribe(messages.nodeCancel, { node: config.node }, ({ payload }) => {
        const hit = this.rounds.cancel(payload.taskUid, payload.round, payload.reason);
        if (hit > 0) log.info({ ...payload, rounds: hit }, 'canceled');
      }),
    );
    this.#subscriptions.push(
      await bus.consume(messages.work, work, async ([delivery]) => {
        if (delivery === undefined) return;
        if (delivery.payload.runner === config.name) this.rounds.accept(delivery);
        else await delivery.reject('misaddressed', `the order is for runner ${delivery.payload.runner}, this is ${config.name}`);
      }),
    );
    this.#every(work.ackWaitMs / 3, () => this.rounds.working());
    log.info({ instance: this.instance, addresses: this.echo.addresses, ports: this.echo.ports }, 'runner is up');
  }

  /**
   * Ends with running rounds unfinished. By its setting `return` their orders go back to the stream and stay in the journal, so a runner that comes back runs
   * them again if there is time, and what is spooled stays on disk; by `report` all that was measured is reported first, if NATS takes it in time.
   */
  async stop(): Promise<void> {
    if (this.#state === 'stopping') return;
    this.#state = 'stopping';
    const { config: { onStop }, log } = this.#options;
    this.echo.problem = 'the runner is stopping';
    for (const timer of this.#timers) clearInterval(timer);
    this.#offReconnect();
    this.#beat();
    const noMoreWork = async (): Promise<void> => void (await Promise.all(this.#subscriptions.splice(0).map((subscription) => subscription.stop())));
    if (onStop === 'report') {
      // What still comes is answered.
      await this.rounds.stop(onStop);
      await noMoreWork();
      await this.rounds.stop(onStop);
      const left = await this.sender.flush(flushMs);
      if (left > 0) log.error({ results: left, waitedMs: flushMs }, 'NATS did not take all results before the runner had to end; they are lost with its data folder');
    } else {
      await noMoreWork();
      await this.rounds.stop(onStop);
    }
    await this.sender.stop();
    await this.echo.stop();
  }

  #every(ms: number, work: () => void): void {
    this.#timers.push(setInterval(work, ms));
  }

  #beat(): void {
    const { config, bus, version, log } = this.#options;
    const ready = this.#state === 'running';
    try {
      bus.publish(messages.runnerBeat, { node: config.node, runner: config.name }, {
        runner: config.name,
        node: config.node,
        runtime: config.runtime,
        ...(config.pod === undefined ? {} : { pod: config.pod }),
        instance: this.instance,
        sentAt: new Date().toISOString(),
        version,
        ready,
        ...(ready ? {} : { reason: 'the runner is stopping' }),
        // One per family: the first.
        addresses: this.echo.addresses.filter(({ family }, i, all) => all.findIndex((other) => other.family === family) === i),
        ports: this.echo.ports,
        running: this.rounds.held(),
        capacityQps: config.capacityQps,
      });
    } catch (error) {
      log.error({ error: messageOf(error) }, 'heartbeat not sent');
    }
  }
}
