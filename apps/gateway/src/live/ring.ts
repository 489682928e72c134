/** One thing to tell live clients. */
export interface LiveEvent {
  readonly id: string;
  readonly name: 'sample' | 'report';
  /** One line of JSON. */
  readonly data: string;
  /** `netreach/default/shop`: the task it is about. */
  readonly task: string;
}

export interface RingLimits {
  /** Events kept for one task. */
  readonly perTask: number;
  /** Tasks kept; those silent the longest go first. */
  readonly tasks: number;
}
export const defaultRingLimits: RingLimits = { perTask: 256, tasks: 512 };

/**
 * The last events of each task, so that a client that was away gets what it missed. Ids are `<start>-<number>`: numbers rise
 * over all tasks, and an id from before a restart is known to be foreign.
 */
export class LiveRing {
  readonly #limits: RingLimits;
  readonly #epoch: string;
  readonly #byTask = new Map<string, LiveEvent[]>();
  #last = 0;

  constructor(epoch: string, limits: RingLimits = defaultRingLimits) {
    this.#epoch = epoch;
    this.#limits = limits;
  }

  add(task: string, name: LiveEvent['name'], data: string): LiveEvent {
    this.#last += 1;
    const event: LiveEvent = { id: `${this.#epoch}-${this.#last}`, name, data, task };
    const events = this.#byTask.get(task) ?? [];
    events.push(event);
    if (events.length > this.#limits.perTask) events.shift();
    // Insertion order is the order of last use.
    this.#byTask.delete(task);
    this.#byTask.set(task, events);
    if (this.#byTask.size > this.#limits.tasks) this.#byTask.delete(this.#byTask.keys().next().value as string);
    return event;
  }

  /**
   * Kept events after an id, oldest first, of one task or of all. With an id of another start all that is kept: seeing some
   * again is better than missing them.
   */
  after(id: string, task: string | undefined): LiveEvent[] {
    const from = this.#numberOf(id);
    const events = task === undefined ? [...this.#byTask.values()].flat() : (this.#byTask.get(task) ?? []);
    const found = events.filter((event) => this.#numberOf(event.id) > from);
    return task === undefined ? found.sort((a, b) => this.#numberOf(a.id) - this.#numberOf(b.id)) : found;
  }

  #numberOf(id: string): number {
    const [epoch, number] = id.split('-');
    return epoch === this.#epoch && /^\d+$/.test(number ?? '') ? Number(number) : 0;
  }
}
