import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { dnsTargetSchema, httpTargetSchema, type HttpTarget, type ProbeTarget, type RequestBudget, type TargetResult } from '@roundsman/api';
import { compilePolicy } from '@roundsman/api/policy';
import type { Lookup } from './resolve.ts';
import { plannedRequests, runMaximum, runRound, runTarget, type ProbeContext, type RoundProgress } from './round.ts';
import { closeAll, listen } from './testing/listen.ts';

afterEach(closeAll);

/** Until there are so many. */
async function atLeast(wanted: number, count: () => number): Promise<void> {
  const late = AbortSignal.timeout(60_000);
  while (count() < wanted) {
    if (late.aborted) throw new Error(`${count()} after a minute, not ${wanted}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const never = new AbortController().signal;

/** Follows what a round has measured so far. */
function following(): { context: Pick<ProbeContext, 'onMeasured' | 'measuredIntervalMs'>; succeeded: (target: number) => number } {
  let last: TargetResult[] = [];
  return { context: { measuredIntervalMs: 20, onMeasured: ({ targets }) => (last = targets) }, succeeded: (target) => last[target]?.succeeded ?? 0 };
}

function target(id: string, url: string, over: Partial<HttpTarget> = {}): ProbeTarget {
  return httpTargetSchema.parse({ id, layer: 'url', probe: 'http', url, ...over });
}

/** A server that keeps when it was asked, and answers when `ready` says so. */
async function counting(ready: () => Promise<void> | undefined = () => undefined): Promise<{ url: string; times: number[] }> {
  const times: number[] = [];
  const port = await listen(createServer(async (_, response) => {
    times.push(performance.now());
    await ready();
    response.end();
  }));
  return { url: `http://127.0.0.1:${port}/`, times };
}

const budget = (over: Partial<RequestBudget> = {}): RequestBudget => ({ durationMs: 200, qps: 50, timeoutMs: 10_000, ...over });

describe('plannedRequests', () => {
  it('is exactly rate times duration, whole requests only, never none', () => {
    expect(plannedRequests(budget({ qps: 10, durationMs: 1500 }))).toBe(15);
    expect(plannedRequests(budget({ qps: 0.1, durationMs: 30_000 }))).toBe(3);
    expect(plannedRequests(budget({ qps: 2.5, durationMs: 1000 }))).toBe(2);
    expect(plannedRequests(budget({ qps: 1, durationMs: 100 }))).toBe(1);
    fc.assert(fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 3600 }), (qps, seconds) => plannedRequests(budget({ qps, durationMs: seconds * 1000 })) === qps * seconds));
  });
});

describe('runRound', () => {
  it('runs all targets at once, each with the whole budget, spread evenly over the time', async () => {
    // None answers before all were asked: who waited for another one to be through would wait for ever.
    const all = Promise.withResolvers<void>();
    const servers: { url: string; times: number[] }[] = [];
    const together = (): Promise<void> => {
      if (servers.every(({ times }) => times.length > 0)) all.resolve();
      return all.promise;
    };
    for (let i = 0; i < 3; i += 1) servers.push(await counting(together));
    const started = performance.now();
    const outcome = await runRound({ targets: servers.map((s, i) => target(`t${i}`, s.url)), request: budget({ qps: 40, durationMs: 500 }), expect: { successRate: 1 } }, {}, { signal: never });
    expect(outcome).toMatchObject({ state: 'ok' });
    expect(outcome.targets.map((t) => [t.target, t.sent, t.succeeded])).toEqual([['t0', 20, 20], ['t1', 20, 20], ['t2', 20, 20]]);
    // On a busy machine a request may be late, but none is early: the i-th of each target is due 25 ms after the one before it.
    for (const { times } of servers) {
      expect(times).toHaveLength(20);
      expect(times.map((time, index) => time - started - index * 25).filter((early) => early < -2)).toEqual([]);
    }
    expect(outcome.starvation.loopDelayP99Ms).toBeGreaterThanOrEqual(0);
  });

  it.each([
    { does: 'sends late what was due while it stood still over its end', endAfterMs: 60_000 },
    { does: 'sends nothing that could not end in time: it is unsent', endAfterMs: 500 },
  ])('$does', async ({ endAfterMs }) => {
    const server = await counting();
    const running = runRound({ targets: [target('t', server.url)], request: budget({ qps: 50, durationMs: 400 }), expect: { successRate: 1 } }, {}, { signal: never, endAtMs: Date.now() + endAfterMs });
    await atLeast(1, () => server.times.length);
    // As a container that is paused, or a core that others take.
    for (const from = performance.now(); performance.now() < from + 700; );
    const { starvation, targets: [result] } = await running;
    const lateMs = result!.sendLag.maxUs / 1000;
    expect([result!.sent + result!.unsent, server.times.length, starvation.suspect]).toEqual([20, result!.sent, true]);
    if (endAfterMs > 1_000) expect([result!.unsent, lateMs > 300]).toEqual([0, true]);
    else expect(lateMs).toBeLessThan(501);
  });

  it('a target that is refused, unresolved, forbidden or silent does not touch the others', async () => {
    const through = Promise.withResolvers<void>();
    const good = await counting(() => void (good.times.length === 10 && through.resolve()));
    const port = await listen(createTcp());
    // Until the good one was asked for the last time.
    const silent = `http://127.0.0.1:${await listen(createTcp((socket) => void socket.once('data', () => void through.promise.then(() => socket.end()))))}/`;
    const targets = [
      target('good', good.url),
      target('unresolved', 'http://no-such-host.invalid/'),
      target('metadata', 'http://[::ffff:a9fe:a9fe]/latest/meta-data'),
      target('own', `http://127.0.0.1:${port}/`),
      target('silent', silent),
      target('family', good.url, { family: 'v6' }),
    ];
    const policy = compilePolicy({ denyEndpoints: [{ address: '127.0.0.1', port }] });
    const outcome = await runRound({ targets, request: budget(), expect: { successRate: 1 } }, {}, { signal: never, policy });
    const byId = Object.fromEntries(outcome.targets.map((t) => [t.target, t]));
    expect(byId.good).toMatchObject({ ok: true, succeeded: 10 });
    expect(good.times).toHaveLength(10);
    expect(byId.unresolved).toMatchObject({ planned: 10, sent: 10, failed: 10, errors: { unresolved: 10 }, ok: false });
    expect(byId.unresolved!.failures).toHaveLength(10);
    expect(byId.unresolved!.failures[0]!.message).toContain('no-such-host.invalid');
    expect(byId.metadata).toMatchObject({ errors: { forbidden: 10 } });
    expect(byId.own).toMatchObject({ errors: { forbidden: 10 } });
    expect(byId.silent).toMatchObject({ errors: { closed: 10 } });
    expect(byId.family!.failures[0]!.message).toBe('127.0.0.1 is not an IPv6 address');
    expect(outcome).toMatchObject({ state: 'failed', reason: '5 of 6 targets failed; unresolved: success rate 0 (0 of 10) is below 1' });
  });

  it('goes where a name leads from when on it resolves, also a DNS server\'s', async () => {
    const server = await counting();
    const dns = createSocket('udp4');
    let queries = 0;
    dns.on('message', (query, from) => {
      queries += 1;
      query[2] = 0x81;
      dns.send(query, from.port, from.address);
    });
    dns.bind(0, '127.0.0.1');
    await once(dns, 'listening');
    let lookups = 0;
    const lookup: Lookup = async (host) => {
      lookups += 1;
      if (lookups <= 2) throw new Error(`queryA ETIMEOUT ${host}`);
      return { address: '127.0.0.1', family: 4 };
    };
    const stop = new AbortController();
    const targets = [
      target('http', server.url.replace('127.0.0.1', 'late.default.svc')),
      dnsTargetSchema.parse({ id: 'dns', layer: 'dns', probe: 'dns', server: 'dns.default.svc', port: dns.address().port, protocol: 'udp', domain: 'x.test', recordType: 'A' }),
    ];
    const seen = following();
    const running = runRound({ targets, request: budget({ qps: 20, durationMs: 3_600_000 }), expect: {} }, {}, { signal: stop.signal, lookup, ...seen.context });
    await atLeast(3, () => Math.min(seen.succeeded(0), seen.succeeded(1)));
    stop.abort();
    const outcome = await running;
    dns.close();
    // Two names, each looked up twice.
    expect(lookups).toBe(4);
    for (const { sent, succeeded, failed, errors, failures } of outcome.targets) {
      expect(errors.unresolved).toBeGreaterThan(0);
      expect([failed, sent]).toEqual([errors.unresolved! + (errors.canceled ?? 0), succeeded + failed]);
      expect(failures[0]!.message).toMatch(/^(late|dns)\.default\.svc: queryA ETIMEOUT/);
    }
    expect(outcome.targets[0]!.succeeded).toBeLessThanOrEqual(server.times.length);
    expect(outcome.targets[1]!.succeeded).toBeLessThanOrEqual(queries);
  });

  it('judges the address that a name resolves to', async () => {
    const server = await counting();
    const result = await runTarget(target('t', server.url.replace('127.0.0.1', 'localhost'), { family: 'v4' }), budget(), {}, {}, { signal: never, policy: compilePolicy({ deny: ['127.0.0.0/8'] }) });
    expect(result.errors).toEqual({ forbidden: 10 });
    expect(result.failures[0]!.message).toBe('localhost resolves to a forbidden address: 127.0.0.1 is in 127.0.0.0/8, which the target policy forbids');
    expect(server.times).toHaveLength(0);
  });

  it('ends within moments when canceled, with what it measured', async () => {
    const good = await counting();
    const hanging = createTcp(() => undefined);
    const port = await listen(hanging);
    const stop = new AbortController();
    const targets = [target('good', good.url), target('hanging', `http://127.0.0.1:${port}/`)];
    const seen = following();
    const running = runRound({ targets, request: budget({ qps: 100, durationMs: 60_000, timeoutMs: 60_000 }), expect: {} }, {}, { signal: stop.signal, ...seen.context });
    await atLeast(20, () => seen.succeeded(0));
    const stopped = performance.now();
    stop.abort();
    const outcome = await running;
    // Nothing of the minute that its schedule and what hangs would take.
    expect(performance.now() - stopped).toBeLessThan(10_000);
    expect(outcome).toMatchObject({ state: 'canceled', reason: 'the round was canceled' });
    const [ok, hung] = outcome.targets;
    expect(ok!.planned).toBe(6000);
    expect(ok!.succeeded).toBeGreaterThanOrEqual(20);
    expect(ok!.unsent).toBe(6000 - ok!.sent);
    expect(hung!.sent).toBeGreaterThan(5);
    expect(hung!.errors).toEqual({ canceled: hung!.sent });
  });

  it('sends on schedule however long the round and the timeout are', async () => {
    const server = await counting();
    const stop = new AbortController();
    const month = 30 * 24 * 3_600_000;
    const seen = following();
    const running = runRound({ targets: [target('a', server.url)], request: budget({ qps: 50, durationMs: month, timeoutMs: month }), expect: {} }, {}, { signal: stop.signal, ...seen.context });
    await atLeast(10, () => seen.succeeded(0));
    stop.abort();
    const [result] = (await running).targets;
    expect(result!.succeeded).toBeGreaterThanOrEqual(10);
    // One may have been under way.
    expect(result!.errors).toEqual(result!.failed === 0 ? {} : { canceled: result!.failed });
    expect(server.times.length).toBeLessThanOrEqual(result!.sent);
    expect(server.times.length).toBeGreaterThanOrEqual(result!.succeeded);
  });

  it('sends nothing when it was canceled before', async () => {
    const server = await counting();
    const outcome = await runRound({ targets: [target('a', server.url), target('b', 'http://localhost:1/')], request: budget(), expect: {} }, {}, { signal: AbortSignal.abort() });
    expect(outcome.state).toBe('canceled');
    expect(outcome.targets.map((t) => [t.sent, t.unsent])).toEqual([[0, 10], [0, 10]]);
    expect(server.times).toHaveLength(0);
  });

  it('reports progress, the last time with everything', async () => {
    const seen: RoundProgress[] = [];
    const told = Promise.withResolvers<void>();
    // It answers once the round has told of itself three times.
    const server = await counting(() => told.promise);
    await runTarget(target('t', server.url), budget({ qps: 100, durationMs: 300 }), {}, {}, { signal: never, onProgress: (p) => void (seen.push(p) === 3 && told.resolve()), progressIntervalMs: 20 });
    expect(seen.length).toBeGreaterThan(3);
    expect(seen.at(-1)).toMatchObject({ progress: 1, targets: 1, planned: 30, sent: 30, succeeded: 30, failed: 0, errors: {} });
    expect(seen.at(-1)!.p99Us).toBeGreaterThan(0);
    expect(seen.map((p) => p.sent)).toEqual(seen.map((p) => p.sent).sort((a, b) => a - b));
  });

  it('rejects wrong set-up before anything is sent', async () => {
    const server = await counting();
    const targets = [target('good', server.url), target('bad', 'https://127.0.0.1/', { hasTls: true })];
    await expect(runRound({ targets, request: budget(), expect: {} }, {}, { signal: never })).rejects.toThrow('target bad: the round\'s materials hold no TLS files');
    expect(server.times).toHaveLength(0);
  });

  it('fails a round without targets', async () => {
    expect(await runRound({ targets: [], request: budget(), expect: {} }, {}, { signal: never })).toMatchObject({ state: 'failed', reason: 'the round has no target', targets: [] });
  });
});

describe('runMaximum', () => {
  it('keeps the given number under way, and counts every answer', async () => {
    let requests = 0;
    let most = 0;
    let now = 0;
    const server = createServer((_, response) => {
      requests += 1;
      most = Math.max(most, ++now);
      setImmediate(() => {
        now -= 1;
        response.end();
      });
    });
    const port = await listen(server);
    const result = await runMaximum(target('t', `http://127.0.0.1:${port}/`), { inFlight: 8, durationMs: 200, timeoutMs: 10_000 }, { successRate: 1 }, {}, { signal: never });
    expect(result).toMatchObject({ ok: true, failed: 0, unsent: 0 });
    expect(result.succeeded).toBe(requests);
    expect(result.phases.connect!.count).toBe(8);
    expect(most).toBeLessThanOrEqual(8);
    server.close();
    await once(server, 'close');
  });
});
