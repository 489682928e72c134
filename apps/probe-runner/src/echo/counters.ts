/** How a request reached the echo target. */
export const channels = ['http', 'https', 'dnsUdp', 'dnsTcp', 'dot', 'udp'] as const;
export type Channel = (typeof channels)[number];
export type TaskCount = Record<Channel, number> & { total: number };

/** Names come from the network: whoever sends random ones must not fill the memory. */
const mostTasks = 10_000;

/** Requests received per task name (HTTP `?task=`, first label of a DNS name, `task=` of a datagram); `''` when none was given. */
export class Counters {
  readonly #tasks = new Map<string, TaskCount>();
  /** Task names forgotten because there were more than 10,000; the oldest go first. */
  forgotten = 0;

  /** Counts one request and returns how many there were for the task, this one included. */
  count(task: string, channel: Channel): number {
    let counts = this.#tasks.get(task);
    if (counts === undefined) {
      if (this.#tasks.size >= mostTasks) this.#forgetOldest();
      counts = { total: 0, http: 0, https: 0, dnsUdp: 0, dnsTcp: 0, dot: 0, udp: 0 };
      this.#tasks.set(task, counts);
    }
    counts[channel] += 1;
    return ++counts.total;
  }

  get(task: string): TaskCount | undefined {
    return this.#tasks.get(task);
  }

  /** Starts a task's count again from 0; all tasks when none is named. */
  reset(task?: string): void {
    if (task === undefined) this.#tasks.clear();
    else this.#tasks.delete(task);
  }

  list(): { tasks: Record<string, TaskCount>; forgotten: number } {
    return { tasks: Object.fromEntries(this.#tasks), forgotten: this.forgotten };
  }

  #forgetOldest(): void {
    const oldest = this.#tasks.keys().next();
    if (oldest.done !== true) this.#tasks.delete(oldest.value);
    this.forgotten += 1;
  }
}
