import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import type { Runner } from './runner.ts';
import { ended, httpOrder, receivedBy, Rig } from './testing/rig.ts';

describe('a runner process', () => {
  let rig: Rig;
  let target: Runner;
  let http: string;
  beforeAll(async () => {
    rig = await Rig.start('runner-1', 'runner-2', 'runner-3');
    target = await rig.runner('runner-2');
    http = `http://127.0.0.1:${target.echo.ports.http}/`;
  });
  afterAll(() => rig.stop());
  const total = (task: string): number => target.echo.counters.get(task)?.total ?? 0;

  it('killed in the middle of a round runs it again when it is back, on the same ports, and reports once', async () => {
    const dataDir = await rig.folder();
    const first = await rig.process('runner-1', dataDir);
    const order = httpOrder('runner-1', 'killed', `${http}?task=killed`, { qps: 20, seconds: 3 });
    await rig.send(order);
    await eventually(() => total('killed') > 5);
    await ended(first.child, 'SIGKILL');
    const before = await receivedBy(target, 'killed');
    const second = await rig.process('runner-1', dataDir);
    expect(second.beat.instance).not.toBe(first.beat.instance);
    expect(second.beat.ports).toEqual(first.beat.ports);
    const { outcome, targets } = await rig.outcome(order);
    expect(outcome).toMatchObject({ state: 'ok', cut: 'restarted', reason: 'the runner ended while it had this round, was started again, and measured all of it anew' });
    expect(targets[0]?.sent).toBe(60);
    // What the killed one sent came on top of the whole second run; nothing else.
    expect(total('killed')).toBe(before + 60);
    // Its order was delivered to the first and is delivered again: answered, not run.
    await eventually(() => rig.committed.has('uid-killed_1'));
    expect(rig.results.filter(({ taskUid }) => taskUid === 'uid-killed')).toHaveLength(1);
    await ended(second.child, 'SIGTERM');
  });

  it('killed with a result in its spool sends it when it is back', async () => {
    const dataDir = await rig.folder();
    const first = await rig.process('runner-1', dataDir);
    const order = httpOrder('runner-1', 'spooled', `${http}?task=spooled`, { qps: 20, seconds: 2 });
    await rig.send(order);
    await eventually(() => total('spooled') > 5);
    await rig.nats.kill();
    // This one: the order of the spec before is delivered again half a minute after its runner was killed.
    await eventually(async () => expect(await readdir(join(dataDir, 'spool'))).toContain('uid-spooled_1.jsonl'));
    await ended(first.child, 'SIGKILL');
    await rig.nats.restart();
    const second = await rig.process('runner-1', dataDir);
    const { outcome } = await rig.outcome(order);
    expect(outcome.state).toBe('ok');
    expect(total('spooled')).toBe(40);
    await eventually(async () => expect(await readdir(join(dataDir, 'spool'))).toEqual([]));
    await ended(second.child, 'SIGTERM');
  });

  it('stops on SIGTERM at once, and takes its round up again when it comes back', async () => {
    const dataDir = await rig.folder();
    const first = await rig.process('runner-1', dataDir);
    const order = httpOrder('runner-1', 'termed', `${http}?task=termed`, { qps: 20, seconds: 2 });
    await rig.send(order);
    await eventually(() => total('termed') > 5);
    await ended(first.child, 'SIGTERM');
    expect(first.child.exitCode).toBe(0);
    await eventually(() => expect(rig.beats.findLast(({ runner }) => runner === 'runner-1')).toMatchObject({ ready: false }));
    expect(rig.results.some(({ taskUid }) => taskUid === 'uid-termed')).toBe(false);
    const second = await rig.process('runner-1', dataDir);
    const { outcome, targets } = await rig.outcome(order);
    expect(outcome.state).toBe('ok');
    expect(targets[0]?.sent).toBe(40);
    await ended(second.child, 'SIGTERM');
  });

  it('that was stopped over the end of its round sends the rest when it goes on, and counts as servers do', async () => {
    const { child } = await rig.process('runner-1', await rig.folder());
    const order = httpOrder('runner-1', 'stopped', `${http}?task=stopped`, { qps: 20, seconds: 2 });
    await rig.send(order);
    await eventually(() => total('stopped') > 5);
    child.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    child.kill('SIGCONT');
    const { targets } = await rig.outcome(order);
    expect(targets[0]).toMatchObject({ planned: 40, sent: 40, unsent: 0 });
    expect(total('stopped')).toBe(40);
    await ended(child, 'SIGTERM');
  });

  it('idles in little memory and next to no CPU', async () => {
    // What it keeps, without garbage that nobody has taken away yet.
    const collecting = `data:text/javascript,process.on('SIGUSR2',()=>gc({type:'major',execution:'sync',flavor:'last-resort'}))`;
    // One of its own name: orders that went down with their runner in the specs before are delivered again to that name, and measured.
    const { child } = await rig.process('runner-3', await rig.folder(), { NODE_OPTIONS: `--expose-gc --import=${collecting}` });
    const ticks = (): number => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
      return Number(fields[11]) + Number(fields[12]);
    };
    const kib = (key: string): number => Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${child.pid}/smaps_rollup`, 'utf8'))?.[1]);
    // From when whatever the start left to do is over.
    await eventually(async () => {
      const before = ticks();
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      expect((ticks() - before) * 10).toBeLessThan(90);
    }, { within: 60_000 });
    child.kill('SIGUSR2');
    await eventually(() => expect(kib('Pss_Anon')).toBeLessThan(40 << 10));
    process.stderr.write(`idle runner: anonymous ${kib('Pss_Anon')} KiB, PSS ${kib('Pss')} KiB\n`);
    await ended(child, 'SIGTERM');
  });

  it('refuses settings it does not know and values it cannot use, naming them', async () => {
    await expect(rig.process('runner-1', await rig.folder(), { ROUNDSMAN_RUNNER_CAPACITY: '5' })).rejects.toThrow('ROUNDSMAN_RUNNER_CAPACITY: no such setting');
    await expect(rig.process('runner-1', await rig.folder(), { ROUNDSMAN_BIND_ADDRESSES: 'eth0' })).rejects.toThrow('ROUNDSMAN_BIND_ADDRESSES');
    await expect(rig.process('runner-1', await rig.folder(), { ROUNDSMAN_RUNNER_DENY: 'everything' })).rejects.toThrow('everything');
  });
});
