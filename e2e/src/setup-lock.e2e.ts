import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const code = (file: string): string => `
  const { takeLock } = await import(${JSON.stringify(new URL('../../scripts/lock.mjs', import.meta.url).href)});
  process.stdin.once('data', () => console.log(takeLock(${JSON.stringify(file)}) ?? 'taken'));
  console.log('ready');`;

describe('the lock of the set-up', () => {
  it.each([['of a dead process', '1 0@nowhere'], ['that is empty', ''], ['that is not there', undefined]])('%s is taken by one of many at once', async (_what, left) => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-lock-'));
    const file = join(folder, 'lock');
    if (left !== undefined) writeFileSync(file, left);
    const takers = Array.from({ length: 6 }, () => spawn(process.execPath, ['--input-type=module', '-e', code(file)], { stdio: ['pipe', 'pipe', 'inherit'] }));
    try {
      await Promise.all(takers.map(({ stdout }) => once(stdout, 'data')));
      const answers = Promise.all(takers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()));
      for (const { stdin } of takers) stdin.write('go');
      const said = await answers;
      const holder = takers[said.indexOf('taken')]?.pid;
      expect(said.filter((answer) => answer !== 'taken')).toEqual(Array.from({ length: 5 }, () => String(holder)));
      expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^${holder} `));
      expect(readdirSync(folder)).toEqual(['lock']);
    } finally {
      await Promise.all(takers.map((taker) => { const gone = once(taker, 'exit'); taker.kill('SIGKILL'); return gone; }));
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
