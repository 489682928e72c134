import { readdir } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort } from '@roundsman/testkit';
import { ownAddresses } from './echo/addresses.ts';
import type { Runner } from './runner.ts';
import { ended, httpOrder, receivedBy, Rig } from './testing/rig.ts';

describe('a runner in a pod', () => {
  let rig: Rig;
  let target: Runner;
  let http: string;
  beforeAll(async () => {
    rig = await Rig.start('runner-1', 'runner-2');
    target = await rig.runner('runner-2');
    http = `http://127.0.0.1:${target.echo.ports.http}/`;
  });
  // Also after one that failed: the next must not be let in for a moment only.
  afterEach(() => rig.answerLogins());
  afterAll(() => rig.stop());
  const total = (task: string): number => target.echo.counters.get(task)?.total ?? 0;

  it('is healthy as soon as its echo target listens, on every address, and waits until it is let in', async () => {
    const port = await freePort();
    const [own] = ownAddresses();
    const starting = rig.process('runner-1', await rig.folder(), await rig.podEnv({
      ROUNDSMAN_RUNNER_HTTP_PORT: String(port), ROUNDSMAN_RUNNER_POD: 'default/pod-1', ROUNDSMAN_RUNNER_ADVERTISE_ADDRESSES: '203.0.113.7,2001:db8::7,203.0.113.8',
      // Kubernetes tells each container of the Services around it; this one's is called roundsman-runner-https.
      ROUNDSMAN_RUNNER_HTTPS_PORT: 'tcp://10.96.0.9:443', ROUNDSMAN_RUNNER_HTTPS_SERVICE_HOST: '10.96.0.9', ROUNDSMAN_RUNNER_HTTPS_PORT_443_TCP_ADDR: '10.96.0.9',
    }));
    const healthy = async (host: string): Promise<number> => (await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/healthz`)).status;
    await eventually(async () => expect(await healthy('127.0.0.1')).toBe(200));
    expect(rig.beats.filter(({ runner }) => runner === 'runner-1')).toEqual([]);
    if (own !== undefined) expect(await healthy(own.address)).toBe(200);
    await eventually(() => expect(rig.logOf('runner-1')).toMatch(/not connected to NATS yet/));
    await rig.answerLogins();
    const { child, beat } = await starting;
    expect(beat).toMatchObject({ pod: 'default/pod-1', addresses: [{ family: 'v4', address: '203.0.113.7' }, { family: 'v6', address: '2001:db8::7' }] });
    const ca = await (await fetch(`http://127.0.0.1:${port}/ca.crt`)).text();
    const certificate = await new Promise<string>((resolve, reject) => {
      const request = httpsRequest({ host: '127.0.0.1', port: beat.ports['https'], ca, path: '/healthz', agent: false }, (response) => {
        resolve(((response.socket as unknown as { getPeerCertificate(): { subjectaltname: string } }).getPeerCertificate()).subjectaltname);
        response.resume();
      });
      request.on('error', reject).end();
    });
    for (const address of ['203.0.113.7', '203.0.113.8', '2001:DB8:0:0:0:0:0:7']) expect(certificate).toContain(`IP Address:${address}`);
    expect(await (await fetch(`http://127.0.0.1:${port}/counters`)).json()).toMatchObject({ tasks: {} });
    await ended(child, 'SIGTERM');
  });

  it('logs in anew when its time is over, again and again within a round, and loses nothing', async () => {
    await rig.answerLogins(3_000);
    const before = rig.logins;
    const { child, log } = await rig.process('runner-1', await rig.folder(), await rig.podEnv());
    const long = httpOrder('runner-1', 'relogin', `${http}?task=relogin`, { qps: 20, seconds: 8 });
    await rig.send(long);
    const { outcome, targets } = await rig.outcome(long, 40_000);
    expect([outcome.state, targets[0]?.sent, total('relogin')]).toEqual(['ok', 160, 160]);
    expect(rig.logins - before).toBeGreaterThan(2);
    const next = httpOrder('runner-1', 'after', `${http}?task=after`, { qps: 20, seconds: 1 });
    await rig.send(next);
    expect((await rig.outcome(next, 40_000)).outcome.state).toBe('ok');
    await eventually(() => rig.committed.has('uid-relogin_1') && rig.committed.has('uid-after_1'));
    for (const task of ['relogin', 'after']) expect(rig.results.filter(({ taskUid }) => taskUid === `uid-${task}`)).toHaveLength(1);
    expect(log()).not.toContain('lost for good');
    await rig.answerLogins();
    await ended(child, 'SIGTERM');
  }, 90_000);

  it('told to end reports what its rounds measured, also of those that had not begun, and goes once NATS has it', async () => {
    const dataDir = await rig.folder();
    const { child, log } = await rig.process('runner-1', dataDir, await rig.podEnv());
    const running = httpOrder('runner-1', 'cut-off', `${http}?task=cut-off`, { qps: 20, seconds: 30 });
    const waiting = httpOrder('runner-1', 'not-begun', `${http}?task=not-begun`, { roundStart: new Date(Date.now() + 30_000).toISOString(), deadline: new Date(Date.now() + 90_000).toISOString() });
    await Promise.all([rig.send(running), rig.send(waiting)]);
    await eventually(() => total('cut-off') > 10);
    // These two: an order of an earlier spec may have been delivered again, its ack having gone down with its runner.
    const both = ['uid-cut-off', 'uid-not-begun'];
    await eventually(() => expect(rig.beats.findLast(({ runner }) => runner === 'runner-1')?.running.map(({ taskUid }) => taskUid)).toEqual(expect.arrayContaining(both)));
    rig.nats.pause();
    const gone = ended(child, 'SIGTERM');
    await eventually(async () => expect(await readdir(join(dataDir, 'spool'))).toEqual(expect.arrayContaining(both.map((uid) => `${uid}_1.jsonl`))));
    expect(child.exitCode).toBeNull();
    rig.nats.resume();
    await gone;
    expect([child.exitCode, log()]).toEqual([0, expect.not.stringContaining('did not take all results')]);
    const cut = await rig.outcome(running);
    expect(cut.outcome).toMatchObject({ state: 'error', cut: 'ended', reason: expect.stringMatching(/^the runner was told to end \(SIGTERM\) during the round; measured until 20/), targetCount: 1 });
    const [result] = cut.targets;
    expect(result).toMatchObject({ planned: 600, unsent: 600 - result!.sent });
    // But for connections that were being made.
    const received = await receivedBy(target, 'cut-off');
    expect(received).toBeLessThanOrEqual(result!.sent);
    expect(received).toBeGreaterThanOrEqual(result!.sent - (result!.errors.canceled ?? 0));
    expect((await rig.outcome(waiting)).outcome).toMatchObject({ state: 'error', cut: 'ended', reason: expect.stringContaining('told to end'), targetCount: 0 });
    expect(total('not-begun')).toBe(0);
  });

  it('killed without a word reports what it had measured some seconds before, when there is no time to begin anew', async () => {
    const dataDir = await rig.folder();
    const first = await rig.process('runner-1', dataDir, await rig.podEnv());
    const order = httpOrder('runner-1', 'kept', `${http}?task=kept`, { qps: 20, seconds: 25, deadline: new Date(Date.now() + 33_000).toISOString() });
    await rig.send(order);
    await eventually(async () => expect(await readdir(join(dataDir, 'begun'))).toContain('uid-kept_1.measured'), { within: 40_000 });
    await ended(first.child, 'SIGKILL');
    const before = await receivedBy(target, 'kept');
    const second = await rig.process('runner-1', dataDir, await rig.podEnv());
    const { outcome, targets } = await rig.outcome(order);
    expect(outcome).toMatchObject({ state: 'error', cut: 'ended', reason: expect.stringMatching(/^the runner ended while it had this round; measured until 20/), targetCount: 1 });
    // Ten seconds of it, but for what was under way.
    expect(targets[0]?.sent).toBeGreaterThan(150);
    expect(targets[0]?.sent).toBeLessThanOrEqual(before);
    expect(targets[0]).toMatchObject({ planned: 500, unsent: 500 - (targets[0]?.sent ?? 0), succeeded: targets[0]?.sent });
    expect(total('kept')).toBe(before);
    // An order of an earlier spec may have been delivered again: its ack went down with its runner.
    await eventually(async () => expect((await readdir(join(dataDir, 'begun'))).filter((name) => name.includes('uid-kept'))).toEqual([]));
    await ended(second.child, 'SIGTERM');
  });
});
