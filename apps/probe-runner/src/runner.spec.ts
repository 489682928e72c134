import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProbeTarget } from '@roundsman/api';
import { messages } from '@roundsman/bus';
import { eventually } from '@roundsman/testkit';
import type { Runner } from './runner.ts';
import { httpOrder, nodeOf, receivedBy, Rig } from './testing/rig.ts';

describe('a runner and the echo target of another', () => {
  let rig: Rig;
  let prober: Runner;
  let target: Runner;
  let http: string;
  beforeAll(async () => {
    rig = await Rig.start('runner-1', 'runner-2', 'runner-3');
    [prober, target] = await Promise.all([rig.runner('runner-1'), rig.runner('runner-2')]);
    http = `http://127.0.0.1:${target.echo.ports.http}/`;
  });
  afterAll(() => rig.stop());

  const counted = (task: string) => target.echo.counters.get(task);

  it('sends exactly its budget over HTTP, HTTPS and HTTP/2, and the target received exactly that', async () => {
    rig.materials = async () => ({ tls: { ca: await target.echo.ca() } });
    const https = `https://localhost:${target.echo.ports.https}/`;
    const base = { layer: 'url' as const, probe: 'http' as const, method: 'GET' as const, headers: [], hasBody: false };
    const targets: ProbeTarget[] = [
      { ...base, id: 'h1', url: `${http}?task=all-http`, http2: false, hasTls: false },
      { ...base, id: 'tls', url: `${https}?task=all-https`, family: 'v4', http2: false, hasTls: true },
      { ...base, id: 'h2', url: `${https}?task=all-h2`, connect: { host: '::1', port: target.echo.ports.https }, http2: true, hasTls: true },
    ];
    // No more than the handshakes that may be under way at a time: none waits for another, however long the target takes.
    const order = httpOrder('runner-1', 'all', http, { targets, needsMaterials: true, qps: 30 });
    await rig.send(order);
    const { outcome, targets: results } = await rig.outcome(order);
    expect(results.filter(({ ok }) => !ok).map(({ target, failures }) => [target, failures[0]])).toEqual([]);
    expect(outcome).toMatchObject({ state: 'ok', targetCount: 3, runningLoad: { AppHttpHealthy: 90 } });
    for (const result of results) expect(result).toMatchObject({ planned: 30, sent: 30, unsent: 0, succeeded: 30, statusCodes: { 200: 30 } });
    expect(counted('all-http')).toMatchObject({ total: 30, http: 30 });
    expect(counted('all-https')).toMatchObject({ total: 30, https: 30 });
    expect(counted('all-h2')).toMatchObject({ total: 30, https: 30 });
  });

  it('asks DNS over UDP, TCP and TLS, each query counted once', async () => {
    const dns = (protocol: 'udp' | 'tcp' | 'tcp-tls', recordType: 'A' | 'TXT' | 'SRV'): ProbeTarget => ({
      id: protocol, layer: 'dns', probe: 'dns', server: '127.0.0.1', protocol, recordType, hasTls: false,
      port: protocol === 'tcp-tls' ? target.echo.ports.dot : target.echo.ports.dns,
      domain: `echo-${protocol}.example.org`,
    });
    const order = { ...httpOrder('runner-1', 'dns', http, { kind: 'NetDNS', qps: 30 }), targets: [dns('udp', 'A'), dns('tcp', 'TXT'), dns('tcp-tls', 'SRV')] };
    await rig.send(order);
    const { outcome, targets } = await rig.outcome(order);
    expect(outcome.state).toBe('ok');
    for (const result of targets) expect(result).toMatchObject({ sent: 30, succeeded: 30, replyCodes: { NOERROR: 30 } });
    expect(counted('echo-udp')).toMatchObject({ total: 30, dnsUdp: 30 });
    expect(counted('echo-tcp')).toMatchObject({ total: 30, dnsTcp: 30 });
    expect(counted('echo-tcp-tls')).toMatchObject({ total: 30, dot: 30 });
  });

  it('runs two rounds at once without mixing their counts, and tells live what happens', async () => {
    const a = httpOrder('runner-1', 'twin-a', `${http}?task=twin-a`, { qps: 50, seconds: 2 });
    const b = httpOrder('runner-1', 'twin-b', `${http}?task=twin-b`, { qps: 30, seconds: 2 });
    await Promise.all([rig.send(a), rig.send(b)]);
    const [ra, rb] = await Promise.all([rig.outcome(a), rig.outcome(b)]);
    expect([ra.targets[0]?.sent, rb.targets[0]?.sent]).toEqual([100, 60]);
    expect([counted('twin-a')?.total, counted('twin-b')?.total]).toEqual([100, 60]);
    // The load of both is told with each.
    expect(Math.max(ra.outcome.runningLoad.AppHttpHealthy ?? 0, rb.outcome.runningLoad.AppHttpHealthy ?? 0)).toBe(80);
    const samples = await eventually(() => {
      const mine = rig.live.filter(({ task }) => task === 'twin-a');
      return mine.some(({ phase }) => phase === 'ended') && mine;
    });
    expect(samples[0]).toMatchObject({ phase: 'started', sent: 0, planned: 100 });
    expect(samples.some(({ phase, sent }) => phase === 'running' && sent > 0 && sent < 100)).toBe(true);
    expect(samples.at(-1)).toMatchObject({ phase: 'ended', sent: 100, progress: 1 });
  });

  it('never runs a round twice: not while it runs, not from the spool, not when it is done', async () => {
    const order = httpOrder('runner-1', 'once', `${http}?task=once`, { qps: 20, seconds: 1 });
    rig.commits = false;
    await rig.send(order);
    await rig.outcome(order);
    expect(prober.spool.has('uid-once_1')).toBe(true);
    // The store forgot (or the scheduler sends again after the ack): answered from the spool.
    await eventually(async () => (await rig.send(order)).duplicate || prober.rounds.counts.answeredFromSpool > 0);
    await eventually(() => prober.rounds.counts.answeredFromSpool > 0);
    rig.commits = true;
    rig.committed.add('uid-once_1');
    await eventually(() => expect(prober.spool.has('uid-once_1')).toBe(false), { within: 60_000 });
    // Who knows nothing of the round can tell from this whether it is too old to be kept.
    expect(Math.abs(Date.now() - Date.parse(rig.asked.get('uid-once_1')!))).toBeLessThan(60_000);
    const before = prober.rounds.counts.answeredFromSpool;
    await rig.send(order);
    await eventually(() => prober.rounds.counts.answeredFromSpool > before);
    expect(counted('once')?.total).toBe(20);
  });

  it('keeps a result that is in Postgres for a while, over a restart, and sends it again when it is not there any more', async () => {
    const dataDir = await rig.folder();
    const first = await rig.runner('runner-3', { dataDir, settings: { keepCommittedSeconds: '600' } });
    const orders = ['stays', 'lost'].map((task) => httpOrder('runner-3', task, http, { qps: 10 }));
    await Promise.all(orders.map((order) => rig.send(order)));
    await eventually(() => first.spool.size === 2 && first.spool.pending === 0);
    await first.stop();
    // So the next one finds them.
    expect((await readdir(join(dataDir, 'spool'))).filter((name) => /\.committed-\d+\.jsonl$/.test(name))).toHaveLength(2);
    // Postgres failed over to a standby that had not heard of it yet.
    rig.committed.delete('uid-lost_1');
    const second = await rig.runner('runner-3', { dataDir, settings: { keepCommittedSeconds: '2' } });
    const received = (task: string): number => rig.results.filter((result) => result.task === task).length;
    await eventually(() => received('lost') === 2);
    expect(second.sender.recalledRounds).toBe(1);
    await eventually(() => second.spool.size === 0);
    expect([received('stays'), received('lost')]).toEqual([1, 2]);
    await second.stop();
  });

  it('stops a canceled round within 2 s and reports what it measured', async () => {
    const order = httpOrder('runner-1', 'cut', `${http}?task=cut`, { qps: 20, seconds: 30 });
    await rig.send(order);
    await eventually(() => (counted('cut')?.total ?? 0) > 5);
    const before = counted('cut')?.total ?? 0;
    rig.scheduler.publish(messages.nodeCancel, { node: nodeOf('runner-1') }, { taskUid: 'uid-cut', round: 1, reason: 'canceled by a person' });
    const { outcome, targets } = await rig.outcome(order);
    expect(outcome).toMatchObject({ state: 'canceled', reason: 'canceled by a person' });
    const [result] = targets;
    // Nearly all of what was left is not sent: 2 s of it, and what a busy machine adds.
    expect((result?.sent ?? 0) - before).toBeLessThan(200);
    expect(result?.sent).toBeGreaterThan(5);
    expect(result).toMatchObject({ planned: 600, unsent: 600 - (result?.sent ?? 0) });
    const settled = await receivedBy(target, 'cut');
    // But for connections that were being made.
    expect(settled).toBeLessThanOrEqual(result!.sent);
    expect(settled).toBeGreaterThanOrEqual(result!.sent - (result!.errors.canceled ?? 0));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(counted('cut')?.total).toBe(settled);
  });

  it('reports an order that came after its deadline, and one whose materials are refused or whose round is over by then', async () => {
    const late = httpOrder('runner-1', 'late', http, { roundStart: '2026-01-01T00:00:00.000Z', deadline: '2026-01-01T00:01:00.000Z' });
    await rig.send(late);
    expect((await rig.outcome(late)).outcome).toMatchObject({ state: 'error', reason: 'picked up after its deadline', targetCount: 0 });
    const { ServiceError } = await import('@roundsman/bus');
    rig.materials = () => {
      throw new ServiceError(404, 'Secret default/tls is gone');
    };
    const bare = httpOrder('runner-1', 'bare', http, { needsMaterials: true });
    await rig.send(bare);
    expect((await rig.outcome(bare)).outcome).toMatchObject({ state: 'error', reason: expect.stringContaining('Secret default/tls is gone') });
    expect(counted('bare')).toBeUndefined();
    rig.materials = () => {
      throw new ServiceError(410, 'round 1 of task uid-over is over');
    };
    const over = httpOrder('runner-1', 'over', http, { needsMaterials: true });
    await rig.send(over);
    expect((await rig.outcome(over)).outcome).toMatchObject({ state: 'canceled', reason: expect.stringContaining('canceled before it began') });
    expect(counted('over')).toBeUndefined();
  });

  it('cuts a round off in time for its deadline', async () => {
    const order = httpOrder('runner-1', 'long', `${http}?task=long`, { seconds: 60, deadline: new Date(Date.now() + 12_000).toISOString() });
    await rig.send(order);
    const { outcome, targets } = await rig.outcome(order);
    expect(Date.parse(outcome.endedAt)).toBeLessThan(Date.parse(order.deadline));
    expect(outcome).toMatchObject({ state: 'error', reason: expect.stringContaining('deadline') });
    expect(targets[0]?.sent).toBeGreaterThan(0);
  });

  it('does not probe what the policy forbids', async () => {
    const order = httpOrder('runner-1', 'metadata', 'http://169.254.169.254/latest/meta-data/');
    await rig.send(order);
    const { targets } = await rig.outcome(order);
    expect(targets[0]).toMatchObject({ ok: false, errors: { forbidden: 20 } });
  });

  it('beats with its endpoints and what it holds', async () => {
    const beat = await eventually(() => rig.beats.findLast(({ runner }) => runner === 'runner-2') ?? false);
    expect(beat).toMatchObject({ ready: true, ports: target.echo.ports, addresses: [{ family: 'v4', address: '127.0.0.1' }, { family: 'v6', address: '::1' }] });
  });
});
