import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { pauseProgram } from './pause-program.ts';

const status = (pid: number | undefined, key: string): string => new RegExp(`^${key}:\\s*(\\S+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

describe('the pause program', () => {
  it('ignores the end of children, waits, and ends well at TERM', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-pause-'));
    const file = join(folder, 'pause');
    writeFileSync(file, pauseProgram(process.arch), { mode: 0o755 });
    const child = spawn(file, { stdio: 'ignore' });
    const ended = once(child, 'exit');
    const sigchld = 1n << 16n;
    await eventually(() => expect(BigInt(`0x${status(child.pid, 'SigIgn')}`) & sigchld).toBe(sigchld));
    await eventually(() => expect(status(child.pid, 'State')).toBe('S'));
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    rmSync(folder, { recursive: true });
  });

  it('is there for both architectures, and for no other', () => {
    // Read with a disassembler once; a change of the code must be read again.
    expect(pauseProgram('arm64').subarray(0x78, 0xc0).toString('hex')).toBe(
      'c81080d2200280d201020010020080d2030180d2010000d4e81080d2000080d241020010010000d4281180d2e0010010010080d2010000d480ffffb7c80b80d2000080d2010000d4',
    );
    expect(pauseProgram('x64').readUInt16LE(18)).toBe(62);
    expect(() => pauseProgram('s390x')).toThrow('no pause program for s390x');
  });
});
