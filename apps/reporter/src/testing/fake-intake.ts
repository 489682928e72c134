import type { KubeObject, Round } from '@roundsman/api';
import { endpoint, messages, ServiceError, type Bus, type Change, type Subscription } from '@roundsman/bus';
import { acquireLeadership, commitChanges, type Leadership } from '@roundsman/store';

const resource = 'rounds.roundsman.io';

/** As much of intake as the reporter's tests need: Round objects in the real store, announced, and their status written on request. */
export class FakeIntake {
  readonly statusWrites: string[] = [];
  /** Answers a status write of this object instead. */
  refuse: (name: string, status: NonNullable<Round['status']>) => ServiceError | undefined = () => undefined;
  #rounds = new Map<string, Round>();
  #version = 0;
  #leadership: Leadership | undefined;
  #served: Subscription | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly bus: Bus,
    private readonly databaseUrl: string,
  ) {}

  async start(): Promise<void> {
    this.#served = await this.bus.serve({ name: 'intake', version: '0.1.0', description: 'for tests' }, [
      endpoint(messages.write, async ({ operation, namespace, name, object }) => {
        const round = this.#rounds.get(`${namespace}/${name}`);
        if (operation !== 'updateStatus' || name === undefined || round === undefined) throw new ServiceError(404, 'not found');
        const status = object!['status'] as NonNullable<Round['status']>;
        const refused = this.refuse(name, status);
        if (refused !== undefined) throw refused;
        this.statusWrites.push(`${namespace}/${name}`);
        return { object: (await this.#commit('MODIFIED', { ...round, status })) as never, warnings: [] };
      }),
    ]);
  }

  async stop(): Promise<void> {
    await this.#served?.stop();
    this.#served = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#leadership?.release();
  }

  get(namespace: string, name: string): Round | undefined {
    return this.#rounds.get(`${namespace}/${name}`);
  }

  async create(round: Omit<Round, 'metadata'> & { metadata: Partial<KubeObject['metadata']> & { name: string; namespace: string } }): Promise<Round> {
    const metadata = { uid: crypto.randomUUID(), generation: 1, creationTimestamp: new Date().toISOString(), resourceVersion: '', ...round.metadata };
    return this.#commit('ADDED', { ...round, metadata });
  }

  async update(round: Round): Promise<Round> {
    return this.#commit('MODIFIED', round);
  }

  async remove(round: Round): Promise<void> {
    await this.#commit('DELETED', round);
  }

  /** One after another, as the real one: versions have no gaps. */
  #commit(type: Change['type'], round: Round): Promise<Round> {
    const done = this.#last.then(() => this.#write(type, round));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #write(type: Change['type'], round: Round): Promise<Round> {
    const { name, namespace = '', uid } = round.metadata;
    if (this.#leadership?.held !== true) this.#leadership = await acquireLeadership(this.databaseUrl, 'intake', AbortSignal.timeout(20_000));
    const version = this.#version + 1;
    const stored = { ...round, metadata: { ...round.metadata, resourceVersion: String(version) } };
    const change: Change = { type, version, previous: version - 1, previousOfResource: version - 1, resource, namespace, name, uid, object: stored as unknown as Change['object'] };
    await commitChanges(this.#leadership.client, [change]);
    this.#version = version;
    if (type === 'DELETED') this.#rounds.delete(`${namespace}/${name}`);
    else this.#rounds.set(`${namespace}/${name}`, stored);
    this.bus.publish(messages.change, { resource, namespace, name }, change);
    return stored;
  }
}
