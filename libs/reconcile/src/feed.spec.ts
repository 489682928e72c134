import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { messages, type Bus, type Change, type CoreMessage, type Delivered, type Params } from '@roundsman/bus';
import { array, assert, asyncProperty, constantFrom, record } from 'fast-check';
import { ChangeFeed, type Following } from './feed.ts';
import { Expired, type ObjectSource } from './source.ts';

/** The history in memory, as Postgres would hold it. */
class Source implements ObjectSource {
  readonly all: Change[] = [];
  trimmedTo = 0;
  failures = 0;
  reads = 0;

  commit(resource: string, name = `o${this.all.length}`): Change {
    const version = this.all.length + 1;
    const previousOfResource = this.all.findLast((change) => change.resource === resource)?.version ?? 0;
    const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name, resourceVersion: String(version) } };
    const change: Change = { type: 'ADDED', version, previous: version - 1, previousOfResource, resource, namespace: 'default', name, uid: name, object };
    this.all.push(change);
    return change;
  }

  async list(): Promise<never> {
    throw new Error('the feed never lists');
  }

  async changes(since: number, options: { resource?: string; limit: number }): Promise<{ head: number; changes: Change[]; more: boolean }> {
    this.reads += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('database is away');
    }
    await new Promise((resolve) => setImmediate(resolve));
    if (since < this.trimmedTo) throw new Expired(`changes before ${this.trimmedTo} are gone`);
    const found = this.all.filter((change) => change.version > since && (options.resource === undefined || change.resource === options.resource));
    return { head: this.all.length, changes: found.slice(0, options.limit), more: found.length > options.limit };
  }
}

/** Only what the feed uses; the test decides which messages arrive. */
class Wire {
  readonly handlers = new Map<string, ((delivered: Delivered<never>) => void)[]>();
  connected = true;

  health(): { connected: boolean; violations: string[] } {
    return { connected: this.connected, violations: [] };
  }

  async subscribe(message: CoreMessage<never>, params: Params, handle: (delivered: Delivered<never>) => void): Promise<{ stop: () => Promise<void> }> {
    const resource = params['resource'];
    const filtered = (delivered: Delivered<never>): void => {
      if (resource === undefined || (delivered.payload as Change).resource === resource) handle(delivered);
    };
    this.handlers.set(message.subject, [...(this.handlers.get(message.subject) ?? []), filtered]);
    return { stop: async () => void this.handlers.delete(message.subject) };
  }

  deliver(subject: string, payload: unknown): void {
    for (const handle of this.handlers.get(subject) ?? []) handle({ subject, params: {}, payload: payload as never });
  }

  change(change: Change): void {
    this.deliver(messages.change.subject, change);
  }

  beacon(source: Source): void {
    const ofResource: Record<string, number> = {};
    for (const { resource, version } of source.all) ofResource[resource] = version;
    this.deliver(messages.changeHead.subject, { version: source.all.length, ofResource });
  }
}

const feeds: ChangeFeed[] = [];
const start = async (options: { resource?: string; keep?: number } = {}): Promise<{ source: Source; wire: Wire; feed: ChangeFeed }> => {
  const source = new Source();
  const wire = new Wire();
  const feed = new ChangeFeed({ bus: wire as unknown as Bus, source, ...options });
  feeds.push(feed);
  await feed.start();
  return { source, wire, feed };
};
const collect = (feed: ChangeFeed, since: number, resource?: string): { versions: number[]; relists: string[]; following: Following } => {
  const versions: number[] = [];
  const relists: string[] = [];
  const following = feed.follow({
    since,
    ...(resource === undefined ? {} : { resource }),
    change: ({ version }) => void versions.push(version),
    relist: (reason) => void relists.push(reason),
  });
  return { versions, relists, following };
};
const until = async (condition: () => boolean): Promise<void> => {
  const deadline = Date.now() + 5000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('did not happen within 5 s');
    await new Promise((resolve) => setImmediate(resolve));
  }
};
const upTo = (n: number, from = 1): number[] => Array.from({ length: n - from + 1 }, (_, i) => i + from);

afterEach(async () => {
  jest.useRealTimers();
  await Promise.all(feeds.splice(0).map((feed) => feed.stop()));
});

describe('ChangeFeed', () => {
  it('reads at once what is known to exist, when nothing told of it', async () => {
    const { source, feed } = await start();
    const { versions, following } = collect(feed, 0);
    await until(() => source.reads > 0);
    for (let count = 0; count < 3; count += 1) source.commit('things');
    feed.expect(3);
    await until(() => following.position === 3);
    expect(versions).toEqual([1, 2, 3]);
  });

  it('reads what is announced without its content, in its place', async () => {
    const { source, wire, feed } = await start();
    const got: string[] = [];
    feed.follow({ since: 0, change: ({ version, object }) => void got.push(`${version} ${String(object['data'])}`), relist: () => undefined });
    const commit = (resource: string, data: string): Change => {
      const change = source.commit(resource);
      change.object['data'] = data;
      return change;
    };
    const announced = (change: Change): Change => ({ ...change, object: { ...change.object, data: undefined }, withheld: true });
    const [a, b, c, d] = [commit('configmaps', 'a'), commit('secrets', 'b'), commit('configmaps', 'c'), commit('secrets', 'd')];
    wire.change(a);
    wire.change(announced(b));
    wire.change(c);
    wire.change(announced(d));
    await until(() => got.length === 4);
    expect(got).toEqual(['1 a', '2 b', '3 c', '4 d']);
    const e = commit('secrets', 'e');
    wire.change(announced(e));
    await until(() => got.length === 5);
    expect(got.at(-1)).toBe('5 e');
    expect(feed.counts.gaps).toBe(0);
  });

  it('hands over messages as they come, without reading the source', async () => {
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    await until(() => seen.following.position === 0 && source.reads === 1);
    await new Promise((resolve) => setImmediate(resolve));
    for (let i = 0; i < 20; i++) wire.change(source.commit('a'));
    expect(seen.versions).toEqual(upTo(20));
    expect(source.reads).toBe(1);
  });

  it('whatever is lost, repeated or late, each change is seen once and in order', async () => {
    await assert(
      asyncProperty(
        array(record({ resource: constantFrom('a', 'b'), fate: constantFrom('arrives', 'arrives', 'lost', 'twice', 'late', 'beacon', 'database-away') }), { minLength: 1, maxLength: 60 }),
        constantFrom(undefined, 'a'),
        constantFrom(4, 1024),
        async (plan, filter, keep) => {
          const { source, wire, feed } = await start({ keep, ...(filter === undefined ? {} : { resource: filter }) });
          const all = collect(feed, 0);
          const onlyA = collect(feed, 0, 'a');
          const lateComers: { since: number; versions: number[] }[] = [];
          const late: Change[] = [];
          for (const [i, { resource, fate }] of plan.entries()) {
            const change = source.commit(resource);
            if (fate === 'late') late.push(change);
            else if (fate !== 'lost') wire.change(change);
            if (fate === 'twice') wire.change(change);
            if (fate === 'beacon') wire.beacon(source);
            if (fate === 'database-away') source.failures = 1;
            if (i % 7 === 3) await new Promise((resolve) => setImmediate(resolve));
            if (i % 13 === 5) lateComers.push({ since: i - 3, versions: collect(feed, i - 3).versions });
            if (i % 5 === 4) for (const one of late.splice(0).reverse()) wire.change(one);
          }
          wire.beacon(source);
          const versions = (wanted: string | undefined, since = 0): number[] => source.all.filter((c) => c.version > since && (wanted === undefined || c.resource === wanted)).map((c) => c.version);
          await until(() => all.versions.length >= versions(filter).length && onlyA.versions.length >= versions('a').length);
          expect(all.versions).toEqual(versions(filter));
          expect(onlyA.versions).toEqual(versions('a'));
          for (const one of lateComers) {
            await until(() => one.versions.length >= versions(filter, one.since).length);
            expect(one.versions).toEqual(versions(filter, one.since));
          }
          expect(all.relists).toEqual([]);
          await feed.stop();
        },
      ),
      { numRuns: 60 },
    );
  });

  it('sees a lost last message by the beacon', async () => {
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    wire.change(source.commit('a'));
    source.commit('b');
    await until(() => seen.versions.length >= 1);
    wire.beacon(source);
    await until(() => seen.versions.length === 2);
    expect(seen.versions).toEqual([1, 2]);
  });

  it('reads what was published while it was disconnected, though nothing came after', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'Date'] });
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    wire.change(source.commit('a'));
    await until(() => seen.versions.length === 1);
    wire.connected = false;
    jest.advanceTimersByTime(1000);
    source.commit('a');
    source.commit('a');
    wire.connected = true;
    jest.advanceTimersByTime(1000);
    await until(() => seen.versions.length === 3);
    expect(seen.versions).toEqual([1, 2, 3]);
  });

  it('a filtered feed is not disturbed by changes of other resources', async () => {
    const { source, wire, feed } = await start({ resource: 'a' });
    const seen = collect(feed, 0);
    await until(() => source.reads === 1);
    await new Promise((resolve) => setImmediate(resolve));
    wire.change(source.commit('a'));
    const reads = source.reads;
    for (let i = 0; i < 5; i++) wire.change(source.commit('b'));
    wire.beacon(source);
    wire.change(source.commit('a'));
    expect(seen.versions).toEqual([1, 7]);
    expect(source.reads).toBe(reads);
  });

  it('tells to list again when the hole was trimmed', async () => {
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    wire.change(source.commit('a'));
    await until(() => seen.versions.length === 1);
    for (let i = 0; i < 5; i++) source.commit('a');
    source.trimmedTo = 4;
    wire.change(source.commit('a'));
    await until(() => seen.relists.length === 1);
    expect(seen.relists[0]).toContain('are gone');
    expect(seen.versions).toEqual([1]);
    // Who lists again goes on from there.
    const again = collect(feed, 7);
    wire.change(source.commit('a'));
    await until(() => again.versions.length === 1);
    expect(again.versions).toEqual([8]);
  });

  it('tells a follower from before the trim, and leaves the others alone', async () => {
    const { source, wire, feed } = await start({ keep: 2 });
    const good = collect(feed, 0);
    for (let i = 0; i < 10; i++) wire.change(source.commit('a'));
    await until(() => good.versions.length === 10);
    source.trimmedTo = 5;
    const old = collect(feed, 3);
    await until(() => old.relists.length === 1);
    expect(good.relists).toEqual([]);
    wire.change(source.commit('a'));
    expect(good.versions.at(-1)).toBe(11);
  });

  it('tells everybody when versions went back: the database was replaced', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'Date'] });
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    for (let i = 0; i < 10; i++) wire.change(source.commit('a'));
    await until(() => seen.versions.length === 10);
    source.all.length = 4;
    jest.advanceTimersByTime(10_000);
    await until(() => seen.relists.length === 1);
    expect(seen.relists[0]).toContain('the database was replaced');
  });

  it('waits for a slow follower between pages of history', async () => {
    const { source, feed } = await start();
    for (let i = 0; i < 1500; i++) source.commit('a');
    const versions: number[] = [];
    let release = (): void => undefined;
    let waits = 0;
    feed.follow({
      since: 0,
      change: ({ version }) => void versions.push(version),
      relist: () => undefined,
      ready: () => {
        waits += 1;
        return new Promise((resolve) => (release = resolve));
      },
    });
    await until(() => waits === 1);
    expect(versions).toHaveLength(500);
    release();
    await until(() => waits === 2);
    expect(versions).toHaveLength(1000);
    release();
    await until(() => versions.length === 1500);
    expect(versions).toEqual(upTo(1500));
  });

  it('a stopped follower hears nothing more', async () => {
    const { source, wire, feed } = await start();
    const seen = collect(feed, 0);
    wire.change(source.commit('a'));
    await until(() => seen.versions.length === 1);
    seen.following.stop();
    wire.change(source.commit('a'));
    expect(seen.versions).toEqual([1]);
  });
});
