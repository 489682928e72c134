import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Home } from './home.ts';
import { holderOf, releaseHome, takeHome } from './lock.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-home-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a home', () => {
  it('keeps its secrets from others and gives the same ones again', () => {
    const home = new Home(join(folder, 'new'));
    home.create();
    expect(home.token(() => 'one')).toBe('one');
    expect(home.token(() => 'two')).toBe('one');
    expect(statSync(home.file('token')).mode & 0o777).toBe(0o600);
    expect(statSync(home.file('keys')).mode & 0o777).toBe(0o700);
  });

  it('is not made of, and not purged from, a folder of somebody else', () => {
    writeFileSync(join(folder, 'thesis.txt'), 'years of work');
    const home = new Home(folder);
    expect(() => home.create()).toThrow('not empty and not a home of Roundsman');
    expect(() => home.purge()).toThrow('nothing was removed');
    expect(existsSync(join(folder, 'thesis.txt'))).toBe(true);
  });

  it('goes away whole', () => {
    const home = new Home(join(folder, 'gone'));
    home.create();
    mkdirSync(home.file('data', 'postgres'));
    home.purge();
    expect(existsSync(home.path)).toBe(false);
  });

  it('says which file is broken', () => {
    const home = new Home(folder);
    home.create();
    home.write('state.json', '{"phase":"ready"');
    expect(() => home.state()).toThrow('state.json cannot be read');
  });

  it('belongs to one process at a time; one that was killed does not hold it', () => {
    const home = new Home(folder);
    home.create();
    expect(takeHome(home)).toBeUndefined();
    expect(takeHome(home)?.pid).toBe(process.pid);
    releaseHome(home);
    expect(holderOf(home)).toBeUndefined();
    home.write('lock', JSON.stringify({ name: 'supervisor', pid: process.pid, started: 'another boot:1' }));
    expect(takeHome(home)).toBeUndefined();
    releaseHome(home);
  });
});
