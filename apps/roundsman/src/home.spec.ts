import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { removeOldDemos } from './commands/demo.ts';
import { Home, type State } from './home.ts';
import { holderOf, releaseHome, takeHome } from './lock.ts';
import { alive, record } from './processes.ts';

const asRoot = process.getuid?.() === 0;
const stateOf = (change: Partial<State>): State => ({
  version: '0', phase: 'ready', startedAt: new Date().toISOString(), nodes: [], gateway: '', nats: '', postgres: '', grafana: '', ports: {}, postgresData: '',
  supervisor: { name: 'supervisor', pid: 1, started: 'gone' }, processes: [], ...change,
});

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

  it('goes without what pods had mounted in it, though a link leads to it', () => {
    // Only root mounts.
    if (!asRoot) return;
    const [disk, real] = [join(folder, 'disk'), join(folder, 'real')];
    for (const each of [disk, real]) mkdirSync(each);
    writeFileSync(join(disk, 'precious'), 'x');
    symlinkSync(real, join(folder, 'link'));
    const home = new Home(join(folder, 'link', 'home'));
    home.create();
    const mounted = home.file('data', 'pods', 'uid with space', 'subpaths');
    mkdirSync(mounted, { recursive: true });
    execFileSync('mount', ['--bind', disk, mounted]);
    home.purge();
    expect([existsSync(home.path), existsSync(join(disk, 'precious'))]).toEqual([false, true]);
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

  it('never removes a folder because its own state names it', () => {
    const home = new Home(join(folder, 'home'));
    home.create();
    const unrelated = join(folder, `thesis-${home.tag}`);
    mkdirSync(join(unrelated, 'postgres'), { recursive: true });
    home.saveState(stateOf({ postgresData: join(unrelated, 'postgres') }));
    home.purge();
    expect(existsSync(unrelated)).toBe(true);
    expect(existsSync(home.path)).toBe(false);
  });

  it('of another user is no home: nothing in it is believed', () => {
    if (!asRoot) return expect(new Home('/').ours).toBe(false);
    const home = new Home(join(folder, 'planted'));
    home.create();
    chownSync(home.path, 65_534, 65_534);
    expect(home.ours).toBe(false);
    expect(() => home.create()).toThrow('belongs to another user (uid 65534)');
    expect(() => home.purge()).toThrow('nothing was removed');
  });

  it('is taken by one of many at once, also when a dead process had it', async () => {
    const home = new Home(folder);
    home.create();
    const code = `
      const { takeHome } = await import(${JSON.stringify(new URL('lock.ts', import.meta.url).href)});
      process.stdin.once('data', () => console.log(takeHome({ file: (name) => ${JSON.stringify(folder)} + '/' + name }) === undefined ? 'taken' : 'refused'));
      console.log('ready');`;
    for (let round = 0; round < 3; round += 1) {
      home.write('lock', JSON.stringify({ name: 'supervisor', pid: process.pid, started: `another boot:${round}` }));
      const takers = Array.from({ length: 6 }, () => spawn(process.execPath, ['--input-type=module', '--disable-warning=ExperimentalWarning', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] }));
      await Promise.all(takers.map(({ stdout }) => once(stdout, 'data')));
      const answers = Promise.all(takers.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()));
      for (const { stdin } of takers) stdin.write('go');
      // Nobody ends before all have tried.
      expect((await answers).filter((answer) => answer === 'taken')).toHaveLength(1);
      await Promise.all(takers.map((taker) => { const gone = once(taker, 'exit'); taker.kill('SIGKILL'); return gone; }));
      expect(readdirSync(folder).filter((name) => name.startsWith('lock.'))).toEqual([]);
    }
  });
});

describe('clearing up after killed demos', () => {
  const dead = { name: 'supervisor', pid: 1, started: 'gone' };
  const demoHome = (name: string): Home => {
    const home = new Home(join(folder, `roundsman-demo-${name}`));
    home.create();
    home.write('lock', JSON.stringify(dead));
    return home;
  };

  it('removes our own and leaves what others could have planted', async () => {
    const own = demoHome('own');
    const open = demoHome('open');
    chmodSync(open.path, 0o777);
    const elsewhere = demoHome('real');
    renameSync(elsewhere.path, join(folder, 'elsewhere'));
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'roundsman-demo-link'));
    const others = asRoot ? [demoHome('other')] : [];
    for (const { path } of others) chownSync(path, 65_534, 65_534);
    await removeOldDemos(folder);
    expect(existsSync(own.path)).toBe(false);
    for (const path of [open.path, join(folder, 'elsewhere', '.roundsman-home'), ...others.map(({ path }) => path)]) expect(existsSync(path)).toBe(true);
  });

  it('ends only processes of this user', async () => {
    if (!asRoot) return;
    const child = spawn('sleep', ['30'], { stdio: 'ignore', uid: 12_345, gid: 12_345, cwd: '/' });
    await once(child, 'spawn');
    const home = demoHome('names-another');
    home.saveState(stateOf({ processes: [record('sleep', child.pid!)!] }));
    await removeOldDemos(folder);
    expect(alive(record('sleep', child.pid!)!)).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});
