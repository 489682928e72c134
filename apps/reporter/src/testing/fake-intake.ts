import type { KubeObject, Round, Runtime } from '@roundsman/api';
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
  /** Of each resource, the version of its last change. */
  readonly #last = new Map<string, number>();
  #leadership: Leadership | undefined;
  #served: Subscription | undefined;
  #turn: Promise<unknown> = Promise.resolve();

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

  /** As the controllers do. */
  async putRuntime(runtime: Runtime): Promise<void> {
    await this.#commit('ADDED', runtime, 'runtimes.roundsman.io');
  }

  /** One after another, as the real one: versions have no gaps. */
  #commit<T extends KubeObject>(type: Change['type'], object: T, of = resource): Promise<T> {
    const done = this.#turn.then(() => this.#write(type, object, of));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #write<T extends KubeObject>(type: Change['type'], object: T, of: string): Promise<T> {
    const { name, namespace = '', uid } = object.metadata;
    if (this.#leadership?.held !== true) this.#leadership = await acquireLeadership(this.databaseUrl, 'intake', AbortSignal.timeout(20_000));
    const version = this.#version + 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const change: Change = { type, version, previous: version - 1, previousOfResource: this.#last.get(of) ?? 0, resource: of, namespace, name, uid, object: stored as unknown as Change['object'] };
    await commitChanges(this.#leadership.client, [change]);
    this.#version = version;
    this.#last.set(of, version);
    if (of === resource) {
      if (type === 'DELETED') this.#rounds.delete(`${namespace}/${name}`);
      else this.#rounds.set(`${namespace}/${name}`, stored as unknown as Round);
    }
    this.bus.publish(messages.change, { resource: of, namespace, name }, change);
    return stored;
  }
}
