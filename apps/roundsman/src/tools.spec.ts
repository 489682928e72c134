import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { atLeast, reachable } from './tools.ts';

describe('versions', () => {
  it.each([
    ['2.12.0', true],
    ['2.9.10', false],
    ['3', true],
    ['2.12', true],
    ['1.99', false],
  ])('%s is at least 2.12: %s', (version, expected) => expect(atLeast(version, [2, 12])).toBe(expected));
});

describe('a folder', () => {
  it('is out of reach for an account when one above it is closed', () => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-reach-'));
    mkdirSync(join(folder, 'closed', 'open'), { recursive: true });
    const stranger = { name: 'stranger', uid: 54_321, gid: 54_321 };
    chmodSync(folder, 0o711);
    expect(reachable(join(folder, 'closed', 'open'), stranger)).toBe(true);
    chmodSync(join(folder, 'closed'), 0o700);
    expect(reachable(join(folder, 'closed', 'open'), stranger)).toBe(false);
    expect(reachable(join(folder, 'closed', 'not-there-yet'), { name: 'me', uid: process.getuid!(), gid: process.getgid!() })).toBe(true);
    rmSync(folder, { recursive: true });
  });
});
