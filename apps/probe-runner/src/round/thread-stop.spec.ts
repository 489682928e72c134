import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from '@jest/globals';
import { httpOrder } from '../testing/rig.ts';
import { measureInThread, stopGraceMs } from './thread.ts';

it('what a thread hands over when told to stop is taken, however long the process stood still meanwhile', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'roundsman-thread-'));
  const script = join(folder, 'thread.mjs');
  await writeFile(script, `import { parentPort } from 'node:worker_threads';
    parentPort.on('message', () => parentPort.postMessage({ outcome: { state: 'canceled' } }));
    parentPort.postMessage({ progress: {} });`);
  const abort = new AbortController();
  const begun = Promise.withResolvers<void>();
  const order = { order: httpOrder('runner-1', 't', 'http://127.0.0.1:1/'), materials: {}, policy: {}, startAtMs: 0, endAtMs: Number.POSITIVE_INFINITY, measuredFile: join(folder, 'measured') };
  const measured = measureInThread(order, { script: pathToFileURL(script), heapMb: 32, signal: abort.signal, onProgress: () => begun.resolve(), onNotKept: () => undefined });
  await begun.promise;
  // So that timers are looked at before messages.
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  for (const from = performance.now(); performance.now() < from + stopGraceMs + 300; );
  expect(await measured).toEqual({ state: 'canceled' });
  await rm(folder, { recursive: true, force: true });
});
