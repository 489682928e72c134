import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Home } from '../home.ts';
import { isGood, makeToken, parseToken, pinOf } from './token.ts';

let folder = '';
let home: Home;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-token-'));
  home = new Home(folder);
  home.create();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const pin = pinOf(Buffer.from('an authority'));

describe('a token for joining', () => {
  it('proves the machine by its secret and the cluster by its pin, and the home keeps only a hash', () => {
    const { token } = makeToken(home, pin, 60_000);
    const parsed = parseToken(`  ${token}\n`);
    expect(parsed?.pin).toBe(pin);
    expect(isGood(home, parsed!.secret)).toBe(true);
    expect(isGood(home, 'A'.repeat(43))).toBe(false);
    expect(readFileSync(join(folder, 'keys/join-tokens.json'), 'utf8')).not.toContain(parsed!.secret);
  });

  it('expires by itself, and those before it stay good', () => {
    const first = parseToken(makeToken(home, pin, 60_000).token)!;
    const over = parseToken(makeToken(home, pin, -1).token)!;
    expect(isGood(home, over.secret)).toBe(false);
    expect(isGood(home, first.secret)).toBe(true);
  });

  it('is nothing else', () => {
    for (const text of ['', 'rj1.', `rj1.${'a'.repeat(43)}`, `rj2.${'a'.repeat(43)}.${pin}`, `rj1.${'a'.repeat(42)}!.${pin}`]) expect(parseToken(text)).toBeUndefined();
  });
});
