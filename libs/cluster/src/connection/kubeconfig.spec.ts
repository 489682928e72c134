import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { inClusterKubeconfig, parseKubeconfig } from './kubeconfig.ts';
import { loginOf, type Login } from './login.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'roundsman-kubeconfig-'));
  for (const name of ['ca', 'cert', 'key', 'token']) writeFileSync(join(folder, name), `the ${name}`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const login = async (user: object, cluster: object = {}): Promise<Awaited<ReturnType<Login>>> => {
  const text = JSON.stringify({
    'current-context': 'mine',
    clusters: [{ name: 'other', cluster: { server: 'https://other' } }, { name: 's', cluster: { server: 'https://one:6443/', ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'mine', context: { cluster: 's', user: 'u' } }],
  });
  return (await loginOf(await parseKubeconfig(text, folder)))();
};

describe('a kubeconfig', () => {
  it('names files by paths relative to itself, or has what is in them', async () => {
    const files = await login({ 'client-certificate': 'cert', 'client-key': join(folder, 'key') }, { 'certificate-authority': 'ca', 'tls-server-name': 'two' });
    expect({ ...files, ca: String(files.ca), cert: String(files.cert), key: String(files.key) }).toEqual({ ca: 'the ca', cert: 'the cert', key: 'the key', servername: 'two', headers: {} });
    const data = await login({ 'client-certificate-data': Buffer.from('a').toString('base64') }, { 'insecure-skip-tls-verify': true });
    expect({ ...data, cert: String(data.cert) }).toEqual({ cert: 'a', rejectUnauthorized: false, headers: {} });
  });

  it('says who we are: by a token, one in a file, a name and password, in the name of another', async () => {
    expect((await login({ token: 't', as: 'another' })).headers).toEqual({ Authorization: 'Bearer t', 'Impersonate-User': 'another' });
    expect((await login({ tokenFile: 'token' })).headers).toEqual({ Authorization: 'Bearer the token' });
    expect(await login({ username: 'u', password: 'p' })).toMatchObject({ auth: 'u:p', headers: {} });
  });

  it('may need a proxy: then the agent goes through that', async () => {
    const { agent, headers } = await login({ token: 't' }, { 'proxy-url': 'http://proxy:3128' });
    expect((agent as unknown as { proxy: URL }).proxy.host).toBe('proxy:3128');
    expect(headers).toEqual({ Authorization: 'Bearer t' });
  });

  it('without a server is none', async () => {
    await expect(parseKubeconfig('', folder)).rejects.toThrow('it has no cluster in its current context');
    await expect(parseKubeconfig('clusters: [{name: s, cluster: {}}]\n', folder)).rejects.toThrow('clusters[0].cluster.server is missing');
  });
});

it('a pod has its service account instead', () => {
  expect(inClusterKubeconfig({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' })).toMatchObject({
    cluster: { server: 'https://[fd00::1]:6443', caFile: '/var/run/secrets/kubernetes.io/serviceaccount/ca.crt' },
    user: { authProvider: { config: { tokenFile: '/var/run/secrets/kubernetes.io/serviceaccount/token' } } },
  });
});
