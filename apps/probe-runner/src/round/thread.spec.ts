import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { httpOrder, Rig } from '../testing/rig.ts';
import { measureInThread, stopGraceMs } from './thread.ts';

/** Threads that go wrong in every way a round can. */
const wrongs = {
  throws: `throw new Error('a bug')`,
  rejects: `setTimeout(() => Promise.reject(new Error('a late bug')), 20)`,
  exits: `process.exit(7)`,
  hoards: `const kept = []; setInterval(() => kept.push(new Array(1e6).fill({})), 1)`,
  hangs: `for (;;) {}`,
};

describe('a measuring thread that goes wrong', () => {
  let folder: string;
  let rig: Rig;
  const script = async (code: string): Promise<URL> => {
    const file = join(folder, `${Math.random()}.mjs`);
    await writeFile(file, code);
    return pathToFileURL(file);
  };
  const measure = async (code: string, signal = new AbortController().signal) =>
    measureInThread({ order: httpOrder('runner-1', 't', 'http://127.0.0.1:1/'), materials: {}, policy: {}, startAtMs: 0, endAtMs: Number.POSITIVE_INFINITY, measuredFile: join(folder, 'measured') }, { script: await script(code), heapMb: 32, signal, onProgress: () => undefined, onNotKept: () => undefined });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-threads-'));
    rig = await Rig.start('runner-1', 'runner-2');
  });
  afterAll(async () => {
    await rig.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('is told from its result, with the reason', async () => {
    await expect(measure(wrongs.throws)).rejects.toThrow('the round crashed: a bug');
    await expect(measure(wrongs.rejects)).rejects.toThrow('the round crashed: a late bug');
    await expect(measure(wrongs.exits)).rejects.toThrow('ended with code 7');
    await expect(measure(wrongs.hoards)).rejects.toThrow('more than 32 MiB of memory');
  });

  it('is ended when it does not stop, within 2 s', async () => {
    const abort = new AbortController();
    const measured = measure(wrongs.hangs, abort.signal);
    setTimeout(() => abort.abort(), 300);
    await expect(measured).rejects.toThrow('did not stop');
    expect(stopGraceMs).toBeLessThan(1_500);
  });

  it('is an error of its round alone: the runner goes on, and a good round beside it is whole', async () => {
    // Rounds of the task `bad` go wrong; all others are measured.
    const real = new URL('../../dist/round/worker.js', import.meta.url).href;
    const choosing = await script(`
      import { workerData } from 'node:worker_threads';
      if (workerData.order.targets[0].url.includes('task=bad')) { ${wrongs.hoards} } else { await import(${JSON.stringify(real)}); }`);
    const [runner, target] = await Promise.all([rig.runner('runner-1', { script: choosing, settings: { roundHeapMb: '48' } }), rig.runner('runner-2')]);
    const http = `http://127.0.0.1:${target.echo.ports.http}/`;
    const good = httpOrder('runner-1', 'good', `${http}?task=good`, { qps: 50, seconds: 2 });
    const bad = httpOrder('runner-1', 'bad', `${http}?task=bad`);
    await Promise.all([rig.send(good), rig.send(bad)]);
    const [fine, wrong] = await Promise.all([rig.outcome(good), rig.outcome(bad)]);
    expect(wrong.outcome).toMatchObject({ state: 'error', reason: 'the round needed more than 48 MiB of memory', targetCount: 0 });
    expect(fine.outcome.state).toBe('ok');
    expect(fine.targets[0]).toMatchObject({ sent: 100, succeeded: 100 });
    expect(target.echo.counters.get('good')?.total).toBe(100);
    expect(runner.rounds.counts.faults).toBe(1);
    const beats = rig.beats.length;
    await eventually(() => rig.beats.slice(beats).some((beat) => beat.runner === 'runner-1' && beat.ready && beat.running.length === 0));
  });
});
