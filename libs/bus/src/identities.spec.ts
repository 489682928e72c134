import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { agentIdentity, createCredential, createIssuer, loadIdentities, loadSeed, renderServerConfig, runnerIdentity, saveIdentities, serviceIdentity } from './index.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'identities-'));
});
afterAll(() => rm(directory, { recursive: true }));

describe('identities', () => {
  const credentials = [createCredential(serviceIdentity('intake')), createCredential(agentIdentity('ip-1.ec2.internal')), createCredential(runnerIdentity('r.1', 'ip-1.ec2.internal'))];

  it('come back from their files as they were, which only the owner can read', async () => {
    const folder = join(directory, 'kept');
    expect(await loadIdentities(folder)).toEqual([]);
    await saveIdentities(folder, credentials);
    expect(await loadIdentities(folder)).toEqual(credentials);
    expect((await readdir(folder)).sort()).toEqual(['agent-ip-1.ec2.internal.nk', 'identities.json', 'intake.nk', 'runner-r.1.nk']);
    for (const file of await readdir(folder)) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(folder, 'intake.nk'), 'utf8')).toMatch(/^SU[A-Z2-7]{56}\n$/);
    expect(await readFile(join(folder, 'identities.json'), 'utf8')).not.toContain(credentials[0]?.seed.slice(0, 10));
  });

  it('name the file that is no seed', async () => {
    const file = join(directory, 'broken.nk');
    await writeFile(file, 'SUNOTASEED');
    await expect(loadSeed(file)).rejects.toThrow(`${file} holds no nkey seed`);
  });

  it('have an issuer for those without an nkey, whose seed is read like theirs', async () => {
    const issuer = createIssuer();
    const file = join(directory, 'issuer.nk');
    await writeFile(file, `${issuer.seed}\n`);
    expect(await loadSeed(file)).toEqual(issuer);
    expect(issuer).toEqual({ seed: expect.stringMatching(/^SA[A-Z2-7]{56}$/), publicKey: expect.stringMatching(/^A[A-Z2-7]{55}$/) });
  });

  it('are refused for names that could not stand in a subject', () => {
    for (const name of ['a b', '*', '../../etc/passwd', 'x\ny']) expect(() => createCredential(agentIdentity(name))).toThrow(/subject token/);
  });

  it('stand in the server configuration without their secrets', () => {
    const text = renderServerConfig({ host: '::1', port: 4333, httpPort: 8333, storeDir: '/data with "quotes"', identities: credentials });
    expect(text).toContain('listen: "[::1]:4333"');
    expect(text).toContain('http: "127.0.0.1:8333"');
    expect(text).toContain('store_dir: "/data with \\"quotes\\""');
    expect(text).toContain('sync_interval: always');
    for (const { seed, publicKey } of credentials) {
      expect(text).toContain(publicKey);
      expect(text).not.toContain(seed);
    }
  });
});
