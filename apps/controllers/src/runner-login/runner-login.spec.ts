import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenHashOf, type Runtime, type RuntimeRunner } from '@roundsman/api';
import { connectBus, ensureStreams, messages, serviceIdentity, type Bus } from '@roundsman/bus';
import { makeLogger } from '@roundsman/service';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { decideLogin } from './decide.ts';
import { answerRunnerLogins, refusals } from './runner-logins.ts';

const runner = (name: string, node: string): RuntimeRunner => ({ runner: name, node, pod: name.split('.')[0]!, ready: false });
const runtime = (name: string, token: string | undefined, runners?: RuntimeRunner[], task?: object): Runtime =>
  ({
    apiVersion: 'roundsman.io/v1',
    kind: 'Runtime',
    metadata: { name, namespace: 'default' },
    spec: { kind: 'DaemonSet', families: ['v4'], ingress: false, ...(token === undefined ? {} : { tokenHash: tokenHashOf(token) }), ...(task === undefined ? {} : { task }) },
    ...(runners === undefined ? {} : { status: { runners } }),
  }) as Runtime;

describe('a runner in a pod', () => {
  const runtimes = [runtime('processes', undefined, [runner('a-1.default', 'n1')]), runtime('a', 'token-a', [runner('a-1.default', 'n1'), runner('a-2.default', '')]), runtime('b', 'token-b', [runner('b-1.default', 'n2')]), runtime('new', 'token-new')];
  const decided = (user: string, password: string) => decideLogin({ user, password }, runtimes);

  it('gets the rights of this one runner on its node', () => {
    expect(decided('a-1.default', 'token-a')).toEqual({ identity: { name: 'runner-a-1.default', role: 'runner', runner: 'a-1.default', node: 'n1' } });
    expect(decided('b-1.default', 'token-b')).toEqual({ identity: { name: 'runner-b-1.default', role: 'runner', runner: 'b-1.default', node: 'n2' } });
  });

  it('is refused, with the reason, unless the token is that of the runtime that has it', () => {
    const none = { refused: 'its token is of no runtime that there is' };
    expect(decided('a-1.default', 'wrong')).toEqual(none);
    expect(decided('a-1.default', tokenHashOf('token-a'))).toEqual(none);
    expect(decided('a-1.default', 'token-b')).toEqual({ refused: 'it is none of the runners that runtime default/b has so far' });
    expect(decided('controllers', 'token-a')).toEqual({ refused: 'it is none of the runners that runtime default/a has so far' });
    expect(decided('new-1.default', 'token-new')).toEqual({ refused: 'it is none of the runners that runtime default/new has so far' });
    expect(decided('a-2.default', 'token-a')).toEqual({ refused: 'its pod in runtime default/a is on no node so far' });
    for (const [user, password] of [['', ''], ['a-1.default', ''], ['', 'token-a']] as const) expect(decided(user, password)).toEqual({ refused: 'it has no nkey that is known, and names no runner with a token' });
  });
});

describe('controllers that answer NATS', () => {
  let nats: TestNats;
  let folder: string;
  let seedFile: string;
  const buses: Bus[] = [];
  const lines: string[] = [];
  const log = makeLogger({ level: 'info', format: 'json', stream: { write: (line) => void lines.push(line) } });
  beforeAll(async () => {
    nats = await startNats({ issuer: true, identities: [serviceIdentity('controllers'), serviceIdentity('scheduler')] });
    folder = await mkdtemp(join(tmpdir(), 'issuer-'));
    seedFile = join(folder, 'issuer.nk');
    await writeFile(seedFile, nats.issuerSeed);
  });
  afterAll(async () => {
    await Promise.allSettled(buses.map((bus) => bus.close()));
    await nats.stop();
    await rm(folder, { recursive: true });
  });

  it('let a runner in as soon as its runtime has it, tell a refusal once and without its token, and leave it in when they restart', async () => {
    const runtimes: Runtime[] = [];
    const list = (): Runtime[] => runtimes;
    const first = await nats.connect('controllers');
    await answerRunnerLogins(first, seedFile, { list }, log);
    const waiting = connectBus({ servers: nats.url, identity: 'runner-a-1.default', login: { user: 'a-1.default', password: 'the-token' } });
    await eventually(() => expect(lines.join('')).toContain('its token is of no runtime that there is'));
    runtimes.push(runtime('a', 'the-token', []));
    await eventually(() => expect(lines.join('')).toContain('it is none of the runners that runtime default/a has so far'));
    runtimes[0] = runtime('a', 'the-token', [runner('a-1.default', 'n1')]);
    const bus = await waiting;
    buses.push(bus);
    expect(lines.map((line) => (JSON.parse(line) as { why: string }).why)).toEqual(['its token is of no runtime that there is', 'it is none of the runners that runtime default/a has so far']);
    expect(lines.join('')).not.toContain('the-token');

    await first.close();
    const second = await nats.connect('controllers');
    const heard: string[] = [];
    await second.subscribe(messages.runnerBeat, {}, ({ payload }) => void heard.push(payload.runner));
    await eventually(() => {
      bus.publish(messages.runnerBeat, { node: 'n1', runner: 'a-1.default' }, { runner: 'a-1.default', node: 'n1', runtime: 'a', instance: 'i', sentAt: new Date().toISOString(), version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1 });
      expect(heard).toContain('a-1.default');
    });
    expect(bus.health()).toMatchObject({ connected: true, violations: [] });
  });

  it('let a runner that was made for one task send results of that task alone, and one of the default runtime of any', async () => {
    const task = { kind: 'NetReach', resource: 'netreaches.roundsman.io', namespace: 'default', name: 'mesh', uid: 'uid-1' };
    const runtimes = [runtime('own', 'token-own', [runner('own-1.default', 'n1')], task), runtime('default', 'token-any', [runner('any-1.default', 'n1')])];
    const controllers = await nats.connect('controllers');
    buses.push(controllers);
    await ensureStreams(await nats.connect('scheduler'));
    await answerRunnerLogins(controllers, seedFile, { list: () => runtimes }, log);
    const sending = async (user: string, password: string): Promise<(kind: 'NetReach' | 'NetDNS', taskUid: string) => Promise<unknown>> => {
      const bus = await connectBus({ servers: nats.url, identity: `runner-${user}`, login: { user, password } });
      buses.push(bus);
      return (kind, taskUid) => {
        const result = { runner: user, node: 'n1', kind, namespace: 'default', task: 'mesh', taskUid, round: 1, roundStart: new Date().toISOString(), part: 1, parts: 1, targets: [] };
        return bus.append(messages.result, { runner: user, kind, taskUid, round: 1 }, result, { msgId: `${user}${kind}${taskUid}` });
      };
    };
    const own = await sending('own-1.default', 'token-own');
    await expect(own('NetReach', 'uid-1')).resolves.toMatchObject({ duplicate: false });
    await expect(own('NetReach', 'uid-2')).rejects.toThrow('may not publish');
    await expect(own('NetDNS', 'uid-1')).rejects.toThrow('may not publish');
    const any = await sending('any-1.default', 'token-any');
    await expect(any('NetReach', 'uid-2')).resolves.toMatchObject({ duplicate: false });
  });

  it('tell a flood of refusals by its number', async () => {
    const told: { runner?: string; refused?: number }[] = [];
    const flooded = makeLogger({ level: 'info', format: 'json', stream: { write: (line) => void told.push(JSON.parse(line) as object) } });
    const refused = refusals(flooded);
    for (let i = 0; i < 1_000; i += 1) refused({ user: `${i}${'x'.repeat(10_000)}`, password: 'p', host: '10.0.0.9' }, 'why', i);
    expect(told).toHaveLength(100);
    expect(told[0]?.runner).toHaveLength(253);
    refused({ user: 'later', password: 'p', host: '10.0.0.9' }, 'why', 61_000);
    expect(told.slice(100).map(({ runner, refused: count }) => runner ?? count)).toEqual([900, 'later']);
  });

  it('say which file holds no seed', async () => {
    const file = join(folder, 'none.nk');
    await writeFile(file, 'nothing');
    await expect(answerRunnerLogins(await nats.connect('controllers'), file, { list: () => [] }, log)).rejects.toThrow(`${file} holds no nkey seed`);
  });
});
