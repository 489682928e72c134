import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join as path } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCredential, agentIdentity, ingressIdentity, runnerIdentity } from '@roundsman/bus';
import { serverCertificate, type ServerCertificate } from '@roundsman/gateway';
import { pino } from 'pino';
import { Home } from '../home.ts';
import { authorityOf, join } from './join-client.ts';
import { JoinServer } from './join-server.ts';
import { joinCluster } from './membership.ts';
import { members } from './members.ts';
import type { JoinReply, JoinRequest } from './messages.ts';
import { makeToken, parseToken, pinOf, type JoinToken } from './token.ts';

const host = '127.0.0.1';
const reply: JoinReply = { cluster: 'c', nats: `nats://${host}:4222`, denyEndpoints: [], version: '1' };
const asked = (node: string): JoinRequest => ({ node, agentKey: createCredential(agentIdentity(node)).publicKey, runnerKey: createCredential(runnerIdentity(`default-${node}`, node)).publicKey, ingressKey: createCredential(ingressIdentity(node)).publicKey });

describe('joining', () => {
  let folder: string;
  let home: Home;
  let certificate: ServerCertificate;
  let token: JoinToken;
  let server: JoinServer;
  let admit: () => Promise<void>;
  beforeEach(async () => {
    folder = mkdtempSync(path(tmpdir(), 'roundsman-join-'));
    home = new Home(path(folder, 'home'));
    home.create();
    certificate = (await serverCertificate({ tlsFolder: path(folder, 'tls') }, [host]))!;
    token = parseToken(makeToken(home, pinOf(new X509Certificate(certificate.ca!).raw), 60_000).token)!;
    admit = async () => undefined;
    server = await JoinServer.start({ home, host, port: 0, cert: certificate.cert, key: certificate.key, ca: certificate.ca!, ownNodes: ['node-1'], reply, admit: () => admit(), log: pino({ level: 'silent' }) });
  });
  afterEach(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const joined = async (node: string, shown: JoinToken = token, more: Partial<JoinRequest> = {}): Promise<JoinReply> => join(host, server.port, await authorityOf(host, server.port, token), shown, { ...asked(node), ...more });

  it('lets in who has the token, once NATS knows the keys', async () => {
    let known: string[] = [];
    admit = async () => void (known = members(home).map(({ node }) => node));
    expect(await joined('far')).toEqual(reply);
    expect(known).toEqual(['far']);
  });

  it('refuses a wrong token, a name that is taken and a name that is none, in words', async () => {
    await expect(joined('far', { ...token, secret: 'A'.repeat(43) })).rejects.toThrow('the token is wrong or has expired');
    await joined('far');
    for (const name of ['node-1', 'far']) await expect(joined(name)).rejects.toThrow(`a node called ${name} is in this cluster already`);
    await expect(joined('far', token, { node: 'Far_1' })).rejects.toThrow('node: must be lower-case letters');
    expect(members(home).map(({ node }) => node)).toEqual(['far']);
    const at = `${host}:${server.port}`;
    await expect(joinCluster(new Home(path(folder, 'member')), at, `rj1.${token.secret}.${token.pin}`, 'Far_1')).rejects.toThrow('Far_1 cannot be the name of a node: it must be lower-case letters');
  });

  it('the same machine may come again, nobody with another key of its own', async () => {
    const same = asked('far');
    await joined('far', token, same);
    await joined('far', token, same);
    for (const key of ['agentKey', 'runnerKey', 'ingressKey'] as const) await expect(joined('far', token, { ...same, [key]: asked('far')[key] })).rejects.toThrow('a node called far is in this cluster already');
    expect(members(home)).toEqual([expect.objectContaining(same)]);
    // One that joined before there were ingress proxies.
    home.write('keys/members.json', JSON.stringify(members(home).map((member) => ({ ...member, ingressKey: undefined }))));
    await joined('far', token, same);
    expect(members(home)).toEqual([expect.objectContaining(same)]);
  });

  it('says so when NATS does not take the keys', async () => {
    admit = () => Promise.reject(new Error('NATS did not load its new configuration'));
    await expect(joined('far')).rejects.toThrow('the cluster could not take the machine in');
  });

  it('answers also what is too large', async () => {
    const ca = await authorityOf(host, server.port, token);
    await expect(join(host, server.port, ca, token, { ...asked('far'), node: 'x'.repeat(200_000) })).rejects.toThrow('the request is larger than 10000 bytes');
  });

  it('tells nobody the secret who is not the cluster, also when that one shows the authority of the cluster', async () => {
    await expect(authorityOf(host, server.port, { ...token, pin: pinOf(Buffer.from('another')) })).rejects.toThrow('is not the cluster that this token is for');
    const other = (await serverCertificate({ tlsFolder: path(folder, 'other') }, [host]))!;
    const told: string[] = [];
    const impostor = createServer({ cert: `${other.cert}\n${certificate.ca}`, key: other.key }, (request, response) => {
      told.push(String(request.headers.authorization));
      response.end(JSON.stringify(reply));
    });
    await new Promise<void>((resolve) => impostor.listen(0, host, resolve));
    const { port } = impostor.address() as { port: number };
    const attempt = authorityOf(host, port, token).then((ca) => join(host, port, ca, token, asked('far')));
    await expect(attempt).rejects.toThrow(/is not the cluster|cannot prove that it is the cluster/);
    // The authority is public: who was given it by another way must not send the secret either.
    await expect(join(host, port, certificate.ca!, token, asked('far'))).rejects.toThrow('cannot prove that it is the cluster');
    expect(told).toEqual([]);
    await new Promise((resolve) => impostor.close(resolve));
  });
});
