import type { Container, ContainerStatus, Pod, Probe } from '@roundsman/api';
import type { PodRuntime } from '@roundsman/containers';
import type { Run } from '../containers/run.ts';
import type { PodEvents } from '../events/recorder.ts';
import { probeExec } from './exec.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import type { Outcome } from './outcome.ts';
import { ProbeRun, type ProbeKind } from './probe-run.ts';
import { probeTcp } from './tcp.ts';

export interface ProbedRun {
  readonly container: Container;
  readonly run: Run;
}

export interface ProbesView {
  readonly pod: Pod;
  readonly podIP: string;
  /** Containers that run, with postStart behind them. */
  readonly running: readonly ProbedRun[];
  /** Only readiness counts now. */
  readonly ending: boolean;
}

const words: Record<ProbeKind, string> = { startup: 'Startup', readiness: 'Readiness', liveness: 'Liveness' };

/** The probes of one pod. Results belong to a run: the next run of a container starts with none. */
export class PodProbes {
  readonly #runtime: Pick<PodRuntime, 'exec'>;
  readonly #events: PodEvents;
  readonly #onChange: () => void;
  /** By `<kind> <container id>`. */
  readonly #runs = new Map<string, ProbeRun>();
  /** What an earlier agent found, until there is a verdict of our own: nothing turns unready because the agent was started again. */
  readonly #found = new Set<string>();

  constructor(runtime: Pick<PodRuntime, 'exec'>, events: PodEvents, stored: readonly ContainerStatus[], onChange: () => void) {
    this.#runtime = runtime;
    this.#events = events;
    this.#onChange = onChange;
    for (const { containerID = '', started, ready } of stored) {
      const id = containerID.replace('docker://', '');
      if (started === true) this.#found.add(`startup ${id}`);
      if (ready) this.#found.add(`readiness ${id}`);
    }
  }

  /** Begins the probes that are due, ends those of runs that are over. */
  sync(view: ProbesView): void {
    const wanted = new Set<string>();
    for (const { container, run } of view.running) {
      const kinds = this.started(container, run) ? (['readiness', 'liveness'] as const) : (['startup'] as const);
      for (const kind of kinds) {
        const probe = probeOf(container, kind);
        if (probe === undefined) continue;
        const key = keyOf(kind, run);
        wanted.add(key);
        if (view.ending && kind !== 'readiness') this.#runs.get(key)?.stop();
        else if (!this.#runs.has(key)) this.#runs.set(key, this.#begin(view, container, run, kind, probe));
      }
      // Its verdict is needed as long as the run lasts.
      if (container.startupProbe !== undefined) wanted.add(keyOf('startup', run));
    }
    for (const [key, run] of this.#runs) {
      if (wanted.has(key)) continue;
      run.stop();
      this.#runs.delete(key);
    }
  }

  /** The startup probe has succeeded, or there is none. */
  started(container: Container, run: Run): boolean {
    return container.startupProbe === undefined || this.#verdict('startup', run) === true;
  }

  /** The readiness probe succeeds, or there is none. */
  ready(container: Container, run: Run): boolean {
    return container.readinessProbe === undefined || this.#verdict('readiness', run) === true;
  }

  /** Runs that a probe gave up, by container, and which. */
  unhealthy(runs: Iterable<Run>): Map<string, 'liveness' | 'startup'> {
    return new Map(
      [...runs].flatMap((run) => {
        const failed = this.#failed(run);
        return failed === undefined ? [] : [[run.name, failed] as const];
      }),
    );
  }

  #failed(run: Run): 'liveness' | 'startup' | undefined {
    if (this.#verdict('startup', run) === false) return 'startup';
    return this.#verdict('liveness', run) === false ? 'liveness' : undefined;
  }

  stop(): void {
    for (const run of this.#runs.values()) run.stop();
    this.#runs.clear();
  }

  #verdict(kind: ProbeKind, run: Run): boolean | undefined {
    const key = keyOf(kind, run);
    return this.#runs.get(key)?.verdict ?? (this.#found.has(key) ? true : undefined);
  }

  #begin({ pod, podIP }: ProbesView, container: Container, run: Run, kind: ProbeKind, probe: Probe): ProbeRun {
    return new ProbeRun({
      probe,
      startedAt: run.startedAt,
      try: (signal) => this.#try(probe, container, run, podIP, signal),
      onOutcome: ({ result, message }) => {
        const how = result === 'unknown' ? 'errored' : result === 'warning' ? 'warning' : 'failed';
        this.#events.record(pod, 'Warning', result === 'warning' ? 'ProbeWarning' : 'Unhealthy', `${words[kind]} probe ${how}: ${message}`, container.name);
      },
      onVerdict: this.#onChange,
      // A run is alive until it is found not to be.
      awaited: kind !== 'liveness',
      endsWith: (verdict) => kind === 'startup' || (kind === 'liveness' && !verdict),
    });
  }

  async #try(probe: Probe, container: Container, run: Run, podIP: string, signal: AbortSignal): Promise<Outcome> {
    if (probe.exec !== undefined) return probeExec(this.#runtime, probe.exec, run.id, signal);
    if (probe.httpGet !== undefined) return probeHttp(probe.httpGet, container, podIP, signal);
    if (probe.tcpSocket !== undefined) return probeTcp(probe.tcpSocket, container, podIP, signal);
    if (probe.grpc !== undefined) return probeGrpc(probe.grpc, podIP, signal);
    return { result: 'unknown', message: `missing probe handler for ${container.name}` };
  }
}

const keyOf = (kind: ProbeKind, run: Run): string => `${kind} ${run.id}`;

function probeOf(container: Container, kind: ProbeKind): Probe | undefined {
  return { startup: container.startupProbe, readiness: container.readinessProbe, liveness: container.livenessProbe }[kind];
}
