import { machineResolvConf } from '../../containers/machine-resolv-conf.ts';
import { parseServer, serversOf, withoutLoops, type Server } from './servers.ts';

const readEveryMs = 5_000;

export interface UpstreamsOptions {
  /** Servers to ask instead of the machine's. */
  readonly set: readonly string[];
  /** Where ourselves are reached: what is there would be asked for ever. */
  readonly own: () => readonly Server[];
  readonly clusterDns: () => readonly string[];
  readonly resolvConf?: () => Promise<string>;
}

/** The servers that names of others are asked for: those set, else those of the machine, as its resolv.conf says now. */
export class Upstreams {
  readonly #options: UpstreamsOptions;
  readonly #set: readonly Server[];
  #machine: readonly Server[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UpstreamsOptions) {
    this.#options = options;
    this.#set = options.set.flatMap((text) => parseServer(text) ?? []);
  }

  async start(): Promise<void> {
    if (this.#set.length > 0) return;
    await this.#read();
    this.#timer = setInterval(() => void this.#read(), readEveryMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  get servers(): readonly Server[] {
    const { own, clusterDns } = this.#options;
    return withoutLoops(this.#set.length > 0 ? this.#set : this.#machine, own(), clusterDns());
  }

  async #read(): Promise<void> {
    this.#machine = serversOf(await (this.#options.resolvConf ?? machineResolvConf)());
  }
}
