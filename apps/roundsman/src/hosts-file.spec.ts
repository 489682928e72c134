import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Home } from './home.ts';
import { removeHosts, writeHosts } from './hosts-file.ts';

const setting = 'ROUNDSMAN_NODE_AGENT_HOSTS_FILE';

describe('hosts of the cluster on this machine', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'roundsman-hosts-'));
  });
  afterEach(() => {
    delete process.env[setting];
    rmSync(folder, { recursive: true, force: true });
  });

  it('are written where agents are told to, unless that cannot be written', () => {
    process.env[setting] = join(folder, 'none');
    expect(writeHosts).toThrow(`--write-hosts: ${join(folder, 'none')} cannot be written`);
    writeFileSync(join(folder, 'hosts'), '');
    process.env[setting] = join(folder, 'hosts');
    expect(writeHosts).not.toThrow();
    expect(process.env[setting]).toBe(join(folder, 'hosts'));
  });

  it('are taken out at the end, those of this home only', async () => {
    const home = new Home(join(folder, 'home'));
    home.create();
    const block = (cluster: string): string => `# BEGIN roundsman ${cluster}\n10.0.0.1\ta.example\n# END roundsman ${cluster}\n`;
    process.env[setting] = join(folder, 'hosts');
    writeFileSync(process.env[setting], `127.0.0.1 localhost\n${block(home.id)}${block('other')}`);
    expect(await removeHosts(home)).toBeUndefined();
    expect(readFileSync(process.env[setting], 'utf8')).toBe(`127.0.0.1 localhost\n${block('other')}`);
  });
});
