import { messages, type Bus, type Subscription } from '@roundsman/bus';
import type { Logger } from 'pino';
import type { TlsSecret } from './secret.ts';

/** A change that was announced while nobody was connected is found by asking. */
const askEveryMs = 10_000;
const retryAfterMs = 1_000;

/** The Secrets that Ingresses name for TLS: asked for when something may have changed, told when it has. */
export class FollowedSecrets {
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #told: (secrets: readonly TlsSecret[]) => void;
  #subscription: Subscription | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Why they could not be had the last time; told once. */
  #problem: string | undefined;
  #asking: Promise<void> | undefined;
  #askAgain = false;
  #stopped = false;
  #versions: string | undefined;

  /** `told` gets all of them. */
  constructor(bus: Bus, log: Logger, told: (secrets: readonly TlsSecret[]) => void) {
    this.#bus = bus;
    this.#log = log;
    this.#told = told;
  }

  /** Whether they are known: until then it is not known which are missing. */
  get known(): boolean {
    return this.#versions !== undefined;
  }

  async start(): Promise<void> {
    this.#subscription = await this.#bus.subscribe(messages.ingressSecretsChange, {}, () => this.ask());
    this.#timer = setInterval(() => this.ask(), askEveryMs);
    this.ask();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#retry);
    await this.#subscription?.stop();
    await this.#asking;
  }

  /** Ingresses may name others now, or a Secret has changed. */
  ask(): void {
    if (this.#stopped) return;
    if (this.#asking !== undefined) this.#askAgain = true;
    else this.#asking = this.#askNow();
  }

  async #askNow(): Promise<void> {
    try {
      do {
        this.#askAgain = false;
        const secrets = await this.#all();
        this.#problem = undefined;
        const versions = JSON.stringify(secrets.map(({ metadata }) => [metadata.uid, metadata.resourceVersion]).sort());
        if (versions !== this.#versions) {
          this.#versions = versions;
          this.#told(secrets);
        }
      } while (this.#askAgain && !this.#stopped);
    } catch (error) {
      if (this.#stopped) return;
      const { message } = error as Error;
      if (message !== this.#problem) this.#log.warn({ err: error }, 'the certificates of the Ingresses cannot be had now; trying again');
      this.#problem = message;
      // One more time at a time, however often it failed.
      clearTimeout(this.#retry);
      this.#retry = setTimeout(() => this.ask(), retryAfterMs).unref();
    } finally {
      this.#asking = undefined;
    }
  }

  async #all(): Promise<TlsSecret[]> {
    const secrets: unknown[] = [];
    let after: string | undefined;
    do {
      const page = await this.#bus.request(messages.ingressSecrets, {}, after === undefined ? {} : { after });
      secrets.push(...page.secrets);
      after = page.next;
    } while (after !== undefined);
    return secrets as TlsSecret[];
  }
}
