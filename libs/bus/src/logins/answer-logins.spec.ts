import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connect, nkeyAuthenticator, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { eventually, startNats } from '@roundsman/testkit';
import type { TestNats } from '@roundsman/testkit';
import { agentIdentity, answerLogins, connectBus, createCredential, createIssuer, messages, renderServerConfig, runnerIdentity, serviceIdentity } from '../index.ts';
import type { Bus, Decision, Login } from '../index.ts';
import { permissionsOf } from '../permissions.ts';
import { loginSubject } from './subject.ts';

const mine = runnerIdentity('pod-1.default', 'n1');
const beat = {
  runner: 'pod-1.default', node: 'n1', runtime: 'r', instance: 'i', sentAt: '2026-01-01T00:00:00Z', version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1,
};

let nats: TestNats;
let open: { close(): Promise<void> }[];
let asked: Login[];
/** Whether `pod-1.default` has come to be; what it says is checked in any case. */
let known: boolean;

const decide = (login: Login): Decision => {
  asked.push(login);
  if (login.password !== 'secret') return { refused: 'the token is of no runtime' };
  return known && login.user === 'pod-1.default' ? { identity: mine } : { refused: `${login.user} is no runner of it` };
};
const answering = async (lifeMs?: number, as = 'controllers'): Promise<Bus> => {
  const bus = await nats.connect(as);
  await answerLogins(bus, { issuerSeed: nats.issuerSeed, ...(lifeMs === undefined ? {} : { lifeMs }) }, decide);
  return bus;
};
const login = async (user: string, password: string, log?: Parameters<typeof connectBus>[0]['log']): Promise<Bus> => {
  const bus = await connectBus({ servers: nats.url, identity: mine.name, login: { user, password }, ...(log === undefined ? {} : { log }) });
  open.push(bus);
  return bus;
};
const raw = async (options: Parameters<typeof connect>[0]): Promise<NatsConnection> => {
  const connection = await connect({ servers: nats.url, reconnect: false, timeout: 30_000, ...options });
  open.push(connection);
  return connection;
};
/** Heard by the controllers from a runner: it is in, and has its rights. */
async function hears(from: Bus, by: Bus): Promise<void> {
  let heard = 0;
  const subscription = await by.subscribe(messages.runnerBeat, {}, () => void (heard += 1));
  await eventually(() => {
    from.publish(messages.runnerBeat, { node: 'n1', runner: 'pod-1.default' }, beat);
    expect(heard).toBeGreaterThan(0);
  });
  await subscription.stop();
}

beforeEach(async () => {
  open = [];
  asked = [];
  known = true;
  nats = await startNats({ issuer: true, identities: [serviceIdentity('controllers'), serviceIdentity('operator'), agentIdentity('n1'), mine] });
});
afterEach(async () => {
  await Promise.allSettled(open.map((one) => one.close()));
  await nats.stop();
});

describe('who has no nkey', () => {
  it('is let in as whoever it was decided, and told from others by the name of that identity', async () => {
    const controllers = await answering();
    const runner = await login('pod-1.default', 'secret');
    await hears(runner, controllers);
    expect(runner.health().violations).toEqual([]);
    expect(asked[0]).toEqual({ user: 'pod-1.default', password: 'secret', host: '127.0.0.1' });
  });

  it('has exactly the rights of the same identity with an nkey', async () => {
    await answering();
    const { publish, subscribe } = permissionsOf(mine);
    const probes = [...publish, ...subscribe, 'rounds.v1.beat.n2', 'rounds.v1.beat.n1.other', 'rounds.v1.result.other.netreach.u.1', 'rounds.v1.node.n1.pod', '_INBOX.x', '_INBOX_runner-other.x', 'rounds.v1.>', '>', loginSubject, '$SYS.REQ.ACCOUNT.PING'];
    const tried = async (connection: NatsConnection): Promise<string[]> => {
      const refused: string[] = [];
      void (async () => {
        for await (const status of connection.status()) if (status.type === 'error' && status.error instanceof PermissionViolationError) refused.push(`${status.error.operation} ${status.error.subject}`);
      })();
      for (const subject of probes) {
        connection.publish(subject.replace('>', 'any').replaceAll('*', 'any'), '');
        connection.subscribe(subject, { callback: () => {} });
      }
      connection.publish('the.end', '');
      await eventually(() => expect(refused).toContain('publish the.end'));
      return refused.sort();
    };
    const [letIn, fixed] = [await raw({ user: 'pod-1.default', pass: 'secret' }), await raw({ authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed(mine.name))) })];
    const rights = await tried(letIn);
    expect(rights).toEqual(await tried(fixed));
    for (const refused of ['subscription rounds.v1.>', 'publish rounds.v1.beat.n2', 'publish rounds.v1.result.other.netreach.u.1', 'subscription _INBOX_runner-other.x', `publish ${loginSubject}`, `subscription ${loginSubject}`]) expect(rights).toContain(refused);
  });

  it('is refused with a wrong token, under a foreign name, without any, and as an nkey that is not known', async () => {
    await answering();
    const seed = createCredential(serviceIdentity('gateway')).seed;
    for (const options of [{ user: 'pod-1.default', pass: 'wrong' }, { user: 'pod-2.default', pass: 'secret' }, { user: 'controllers', pass: 'secret' }, {}, { authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)) }]) {
      await expect(raw(options)).rejects.toThrow(/authorization/i);
    }
    expect(asked).toHaveLength(5);
  });

  it('gets in later when it could not at first, which is told once, without the token', async () => {
    await answering();
    known = false;
    const lines: object[] = [];
    const log = { debug: () => {}, info: () => {}, warn: (fields: object) => void lines.push(fields), error: (fields: object) => void lines.push(fields) };
    const waiting = login('pod-1.default', 'secret', log);
    await eventually(() => expect(asked.length).toBeGreaterThan(2));
    known = true;
    await waiting;
    expect(lines).toEqual([expect.objectContaining({ identity: mine.name, error: expect.stringMatching(/authorization/i) })]);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('waits while nobody answers, and while NATS is away; whoever answers may come and go', async () => {
    const listener = await raw({ authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed('controllers'))) });
    const questions = listener.subscribe(loginSubject, { max: 1 });
    await listener.flush();
    const waiting = login('pod-1.default', 'secret');
    // A question that nobody answered is not asked again: the client has to.
    for await (const _ of questions);
    await listener.close();
    const controllers = await answering();
    const runner = await waiting;
    await hears(runner, controllers);
    await nats.restart();
    await eventually(() => expect(runner.health().connected && controllers.health().connected).toBe(true));
    await hears(runner, controllers);
    await controllers.close();
    expect(runner.health().connected).toBe(true);
    await hears(runner, await answering());
  });

  it('logs in anew when its time is over, and is out when it may no more', async () => {
    const controllers = await answering(1_500);
    const runner = await login('pod-1.default', 'secret');
    await eventually(() => expect(asked.length).toBeGreaterThan(1));
    await eventually(() => expect(runner.health().connected).toBe(true));
    await hears(runner, controllers);
    known = false;
    await eventually(() => expect(runner.health().connected).toBe(false));
    known = true;
    await eventually(() => expect(runner.health().connected).toBe(true));
    expect(runner.health().violations).toEqual([]);
  });

  it('is shared among those who answer', async () => {
    await answering();
    await answering();
    // One after another, each once: who is not let in soon would ask again.
    for (let count = 0; count < 10; count += 1) await raw({ user: 'pod-1.default', pass: 'secret' });
    expect(asked).toHaveLength(10);
  });
});

describe('who has an nkey', () => {
  it('is let in when nobody answers, and never asked about', async () => {
    for (const name of ['controllers', 'operator', 'agent-n1', mine.name]) expect((await nats.connect(name)).health().connected).toBe(true);
    await answering();
    for (const name of ['operator', 'agent-n1', mine.name]) await nats.connect(name);
    expect(asked).toEqual([]);
    // Nobody but those who answer hears the question, and nobody can ask it.
    const operator = await raw({ authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed('operator'))) });
    const heard: string[] = [];
    for (const subject of ['>', '$SYS.>', loginSubject]) operator.subscribe(subject, { callback: (error, msg) => void (error === null && heard.push(msg.subject)) });
    await operator.flush();
    operator.publish(loginSubject, 'eyJ', { reply: 'rounds.v1.x' });
    await raw({ user: 'pod-1.default', pass: 'secret' });
    expect(heard).toEqual([]);
    expect(asked).toHaveLength(1);
  });
});

describe('the configuration', () => {
  const at = { host: '127.0.0.1', port: 4222, storeDir: '/data' };
  it('stays the same about log-ins when agents come: a server that runs takes no other', () => {
    const controllers = createCredential(serviceIdentity('controllers'));
    const issuer = createIssuer();
    const about = (text: string): string[] => text.split('\n').filter((line) => line.includes('auth_callout'));
    const before = renderServerConfig({ ...at, identities: [controllers], issuer: issuer.publicKey });
    expect(about(renderServerConfig({ ...at, identities: [controllers, createCredential(agentIdentity('new'))], issuer: issuer.publicKey }))).toEqual(about(before));
    expect(about(before)).toHaveLength(1);
    expect(before).not.toContain(issuer.seed);
    expect(about(renderServerConfig({ ...at, identities: [controllers] }))).toEqual([]);
    expect(() => renderServerConfig({ ...at, identities: [], issuer: issuer.publicKey })).toThrow('no identity that may answer');
  });
});
