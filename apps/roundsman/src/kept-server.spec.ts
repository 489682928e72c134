import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { KeptServer } from './kept-server.ts';
import { ServerProcess } from './server-process.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-kept-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const sleeper = async (): Promise<{ process: ServerProcess; stop: () => Promise<void> }> => {
  const server = await ServerProcess.start({ name: 'sleep', command: 'sleep', args: ['60'], logFile: join(folder, 'log') });
  return { process: server, stop: () => server.stop([{ signal: 'SIGTERM', withinMs: 5_000 }]) };
};

describe('a kept server', () => {
  it('is started again when it ends, after failed attempts too; when it ends again at once it is given up', async () => {
    const restarted = Promise.withResolvers<void>();
    const givenUp = Promise.withResolvers<Error>();
    let starts = 0;
    const start = async (): ReturnType<typeof sleeper> => {
      starts += 1;
      if (starts === 2) throw new Error('port still taken');
      return sleeper();
    };
    const kept = await KeptServer.start({ name: 'NATS', start, onRestart: restarted.resolve, onGivenUp: givenUp.resolve, log: pino({ level: 'silent' }), waitsMs: [1, 1] });
    const first = kept.current.process.recorded.pid;
    process.kill(first, 'SIGKILL');
    await restarted.promise;
    expect(starts).toBe(3);
    expect(kept.current.process.recorded.pid).not.toBe(first);
    process.kill(kept.current.process.recorded.pid, 'SIGKILL');
    expect((await givenUp.promise).message).toMatch(/^NATS ended \(signal SIGKILL\) \d+ s after it had been started again/);
    expect(starts).toBe(3);
    await kept.stop();
  });

  it('that does not come back is given up with every reason', async () => {
    const givenUp = Promise.withResolvers<Error>();
    let starts = 0;
    const start = (): ReturnType<typeof sleeper> => ((starts += 1) === 1 ? sleeper() : Promise.reject(new Error(`no disk ${starts}`)));
    const kept = await KeptServer.start({ name: 'Postgres', start, onRestart: () => undefined, onGivenUp: givenUp.resolve, log: pino({ level: 'silent' }), waitsMs: [1, 1] });
    process.kill(kept.current.process.recorded.pid, 'SIGKILL');
    expect((await givenUp.promise).message).toBe('Postgres ended (signal SIGKILL); it could not be started again: no disk 2; it could not be started again: no disk 3');
    await kept.stop();
  });

  it('that is stopped stays so', async () => {
    let starts = 0;
    const kept = await KeptServer.start({ name: 'NATS', start: () => { starts += 1; return sleeper(); }, onRestart: () => undefined, onGivenUp: () => undefined, log: pino({ level: 'silent' }), waitsMs: [1] });
    await kept.stop();
    expect(kept.current.process.running).toBe(false);
    expect(starts).toBe(1);
  });
});
