import type { Container, Pod } from '@roundsman/api';
import { HookProblem, runHook } from '../lifecycle/hooks.ts';
import type { NodeServices } from './node-services.ts';
import type { StopCause } from './plan.ts';

/** After preStop a container always has this long between TERM and KILL, as with the kubelet. */
const leastGraceMs = 2_000;

export interface StopOrder {
  readonly pod: Pod;
  readonly container: Container | undefined;
  readonly name: string;
  readonly id: string;
  readonly podIP: string;
  readonly cause: StopCause;
  readonly restart: boolean;
  readonly graceMs: number;
  /** It was begun before and failed: that was told. */
  readonly again: boolean;
}

/** Ends one running container: preStop, TERM, and KILL when its grace is over. */
export class ContainerStop {
  readonly #services: NodeServices;
  readonly #order: StopOrder;
  readonly #hook = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  /** Epoch milliseconds. */
  #deadline: number;
  #signalled = false;

  constructor(services: NodeServices, order: StopOrder) {
    this.#services = services;
    this.#order = order;
    this.#deadline = Date.now() + order.graceMs;
  }

  /** Resolves when the container has ended. */
  async run(): Promise<void> {
    const { runtime, events } = this.#services;
    const { pod, name, id, graceMs, again } = this.#order;
    if (!again) events.record(pod, 'Normal', 'Killing', killingText(this.#order), name);
    const hooked = graceMs > 0 && (await this.#preStop());
    this.#signalled = true;
    const left = this.#deadline - Date.now();
    await runtime.stopContainer(id, Math.max(0, hooked ? Math.max(left, leastGraceMs) : left));
  }

  /** Less grace than before, from now on. */
  shorten(graceMs: number): void {
    const deadline = Date.now() + graceMs;
    if (deadline >= this.#deadline) return;
    this.#deadline = deadline;
    this.#armHook();
    if (!this.#signalled) return;
    const { runtime, log } = this.#services;
    runtime.stopContainer(this.#order.id, graceMs).catch((error: unknown) => log.warn({ err: error, container: this.#order.id }, 'container not ended sooner'));
  }

  /** Whether there was a hook. */
  async #preStop(): Promise<boolean> {
    const { runtime, events } = this.#services;
    const { pod, container, id, podIP } = this.#order;
    const hook = container?.lifecycle?.preStop;
    if (container === undefined || hook === undefined) return false;
    this.#armHook();
    const givenUp = new Promise<void>((resolve) => this.#hook.signal.addEventListener('abort', () => resolve(), { once: true }));
    try {
      await Promise.race([givenUp, runHook(runtime, { pod, container, id, podIP }, hook, this.#hook.signal)]);
    } catch (error) {
      if (!(error instanceof HookProblem)) throw error;
      events.record(pod, 'Warning', 'FailedPreStopHook', 'PreStopHook failed', container.name);
    } finally {
      clearTimeout(this.#timer);
    }
    return true;
  }

  #armHook(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#hook.abort(), Math.max(0, this.#deadline - Date.now()));
  }
}

function killingText({ name, cause, restart }: StopOrder): string {
  const again = restart ? ', will be restarted' : '';
  if (cause === 'changed') return `Container ${name} definition changed${again}`;
  if (cause === 'liveness' || cause === 'startup') return `Container ${name} failed ${cause} probe${again}`;
  return `Stopping container ${name}`;
}
