import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, nkeyAuthenticator, PermissionViolationError } from '@nats-io/transport-node';
import type { NatsConnection } from '@nats-io/transport-node';
import { eventually, startNats } from '@roundsman/testkit';
import type { TestNats } from '@roundsman/testkit';
import {
  agentIdentity, endpoint, ensureRunnerConsumer, ingressIdentity, ensureStreams, messages, removeRunnerConsumer, runnerConsumeOptions, runnerIdentity, serviceIdentity, serviceRoles, sweepDeadLetters,
} from './index.ts';
import type { Bus, Identity } from './index.ts';
import { permissionsOf } from './permissions.ts';

const identities: Identity[] = [
  ...serviceRoles.map(serviceIdentity),
  serviceIdentity('operator'),
  agentIdentity('n.1'),
  agentIdentity('n.2'),
  runnerIdentity('r.1', 'n.1'),
  runnerIdentity('r.2', 'n.2'),
  ingressIdentity('n.1'),
];
const columns = ['intake', 'gateway', 'scheduler', 'controllers', 'reporter', 'operator', 'agent-n.1', 'runner-r.1', 'ingress-n.1'];

/**
 * Written by hand, not derived: who may publish (p) and subscribe (s) where. `n_1` and `r_1` are the agent's and runner's
 * own, `n_2` and `r_2` those of others.
 */
const matrix = `
subject                                        intake gateway scheduler controllers reporter operator agent runner ingress
rounds.v1.change.nodes.-.n_1                   p      s       s         s           s        s        -     -      -
rounds.v1.change-head                          p      s       s         s           s        s        -     -      -
rounds.v1.network                              p      -       -         -           -        s        s     -      s
rounds.v1.network.secrets                      p      -       -         -           -        s        -     -      s
rounds.v1.work.r_1.netreach.u.1                -      -       p         -           -        s        -     -      -
rounds.v1.work.r_2.netreach.u.1                -      -       p         -           -        s        -     -      -
rounds.v1.result.r_1.netreach.u.1              -      -       -         -           -        s        -     p      -
rounds.v1.result.r_2.netreach.u.1              -      -       -         -           -        s        -     -      -
rounds.v1.report.netreach.default.t            -      s       -         -           p        s        -     -      -
rounds.v1.live.netreach.default.t.n_1          -      s       -         -           -        s        -     p      -
rounds.v1.live.netreach.default.t.n_2          -      s       -         -           -        s        -     -      -
rounds.v1.beat.n_1                             -      -       -         s           -        s        p     -      -
rounds.v1.beat.n_2                             -      -       -         s           -        s        -     -      -
rounds.v1.beat.n_1.r_1                         -      -       s         s           s        s        -     p      -
rounds.v1.beat.n_1.r_2                         -      -       s         s           s        s        -     -      -
rounds.v1.beat.n_2.r_1                         -      -       s         s           s        s        -     -      -
rounds.v1.node.n_1.cancel                      -      -       p         -           -        s        -     s      -
rounds.v1.node.n_2.cancel                      -      -       p         -           -        s        -     -      -
rounds.v1.node.n_1.pod                         p      -       -         -           -        s        s     -      -
rounds.v1.node.n_1.volume                      p      -       -         -           -        s        s     -      -
rounds.v1.node.n_1.stats                       -      p       -         p           -        s        s     -      -
rounds.v1.node.n_1.pipe                        -      p       -         -           -        -        s     -      -
rounds.v1.pipe.n_1.session.up                  -      p       -         -           -        -        s     -      -
rounds.v1.pipe.n_1.session.down                -      s       -         -           -        -        p     -      -
rounds.v1.node.n_2.pod                         p      -       -         -           -        s        -     -      -
rounds.v1.node.n_2.volume                      p      -       -         -           -        s        -     -      -
rounds.v1.node.n_2.stats                       -      p       -         p           -        s        -     -      -
rounds.v1.node.n_2.pipe                        -      p       -         -           -        -        -     -      -
rounds.v1.pipe.n_2.session.up                  -      p       -         -           -        -        -     -      -
rounds.v1.pipe.n_2.session.down                -      s       -         -           -        -        -     -      -
rounds.v1.dlq.WORK.runner-r_1.invalid          -      -       p         -           p        s        -     p      -
rounds.v1.dlq.WORK.runner-r_2.invalid          -      -       p         -           p        s        -     -      -
rounds.v1.dlq.RESULT.reporter.invalid          -      -       p         -           p        s        -     -      -
rounds.v1.dlq.REPORT.x.invalid                 -      -       -         -           -        s        -     -      -
rounds.v1.svc.intake.write                     s      p       p         p           p        -        -     -      -
rounds.v1.svc.intake.get                       s      -       -         -           -        p        -     -      -
rounds.v1.svc.intake.list                      s      -       -         -           -        p        -     -      -
rounds.v1.svc.intake.changes                   s      -       -         -           -        p        -     -      -
rounds.v1.svc.intake.network                   s      -       -         -           -        -        p     -      p
rounds.v1.svc.intake.ingress-secrets           s      -       -         -           -        -        -     -      p
rounds.v1.svc.intake.node-pods.n_1             s      -       -         -           -        -        p     -      -
rounds.v1.svc.intake.node-pods.n_2             s      -       -         -           -        -        -     -      -
rounds.v1.svc.intake.node-write.n_1            s      -       -         -           -        -        p     -      -
rounds.v1.svc.intake.node-write.n_2            s      -       -         -           -        -        -     -      -
rounds.v1.svc.intake.node-materials.n_1        s      -       -         -           -        -        p     -      -
rounds.v1.svc.intake.node-materials.n_2        s      -       -         -           -        -        -     -      -
rounds.v1.svc.intake.node-volumes.n_1          s      -       -         -           -        -        p     -      -
rounds.v1.svc.intake.node-volumes.n_2          s      -       -         -           -        -        -     -      -
rounds.v1.svc.scheduler.materials.r_1          -      -       s         -           -        -        -     p      -
rounds.v1.svc.scheduler.materials.r_2          -      -       s         -           -        -        -     -      -
rounds.v1.svc.scheduler.materials.*            -      -       s         -           -        -        -     -      -
rounds.v1.svc.reporter.committed.r_1           -      -       -         -           s        p        -     p      -
rounds.v1.svc.reporter.committed.r_2           -      -       -         -           s        p        -     -      -
rounds.v1.svc.reporter.committed.*             -      -       -         -           s        p        -     -      -
rounds.v1.>                                    -      -       -         -           -        s        -     -      -
rounds.v1.result.>                             -      -       -         -           -        s        -     -      -
>                                              -      -       -         -           -        -        -     -      -
anything.else                                  -      -       -         -           -        -        -     -      -
_INBOX.x                                       -      -       -         -           -        s        -     -      -
_INBOX_intake.x                                s      -       -         -           -        -        -     -      -
_INBOX_runner-r_1.x                            -      -       -         -           -        -        -     s      -
_INBOX_runner-r_2.x                            -      -       -         -           -        -        -     -      -
_INBOX_ingress-n_1.x                           -      -       -         -           -        -        -     -      s
$SRV.PING                                      s      -       s         -           s        p        s     -      -
$SRV.INFO.intake                               s      -       -         -           -        p        -     -      -
$SRV.STATS.intake.id                           s      -       -         -           -        p        -     -      -
$SYS.REQ.USER.AUTH                             -      -       -         s           -        -        -     -      -
$SYS.REQ.SERVER.PING                           -      -       -         -           -        -        -     -      -
$JS.API.STREAM.CREATE.WORK                     -      -       p         -           p        -        -     -      -
$JS.API.STREAM.CREATE.OTHER                    -      -       -         -           -        -        -     -      -
$JS.API.STREAM.UPDATE.RESULT                   -      -       p         -           p        -        -     -      -
$JS.API.STREAM.DELETE.WORK                     -      -       -         -           -        -        -     -      -
$JS.API.STREAM.PURGE.WORK                      -      -       p         -           -        -        -     -      -
$JS.API.STREAM.PURGE.RESULT                    -      -       -         -           -        -        -     -      -
$JS.API.STREAM.INFO.REPORT                     -      p       p         -           p        p        -     -      -
$JS.API.STREAM.INFO.WORK                       -      -       p         -           p        p        -     -      -
$JS.API.STREAM.MSG.GET.RESULT                  -      -       p         -           p        p        -     -      -
$JS.API.STREAM.MSG.DELETE.RESULT               -      -       p         -           p        -        -     -      -
$JS.API.CONSUMER.CREATE.WORK.runner-r_1        -      -       -         -           -        -        -     -      -
$JS.API.CONSUMER.CREATE.RESULT.thief           -      -       -         -           -        -        -     -      -
$JS.API.CONSUMER.CREATE.REPORT.oc_1            -      p       -         -           -        p        -     -      -
$JS.API.CONSUMER.INFO.WORK.runner-r_1          -      -       p         -           -        p        -     p      -
$JS.API.CONSUMER.INFO.WORK.runner-r_2          -      -       p         -           -        p        -     -      -
$JS.API.CONSUMER.MSG.NEXT.WORK.runner-r_1      -      -       -         -           -        -        -     p      -
$JS.API.CONSUMER.MSG.NEXT.WORK.runner-r_2      -      -       -         -           -        -        -     -      -
$JS.API.CONSUMER.MSG.NEXT.RESULT.reporter      -      -       -         -           p        -        -     -      -
$JS.API.CONSUMER.MSG.NEXT.REPORT.oc_1          -      p       -         -           -        p        -     -      -
$JS.API.CONSUMER.DELETE.WORK.runner-r_1        -      -       p         -           -        -        -     -      -
$JS.API.CONSUMER.DELETE.RESULT.reporter        -      -       -         -           -        -        -     -      -
$JS.ACK.WORK.runner-r_1.1.1.1.1.1              -      -       -         -           -        -        -     p      -
$JS.ACK.WORK.runner-r_2.1.1.1.1.1              -      -       -         -           -        -        -     -      -
$JS.ACK.RESULT.reporter.1.1.1.1.1              -      -       -         -           p        -        -     -      -
$JS.EVENT.ADVISORY.CONSUMER.X                  -      -       -         -           -        s        -     -      -
`;
const rows = matrix
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.trim().split(/\s+/))
  .map(([subject = '', ...cells]) => ({ subject, cells }));

let nats: TestNats;
beforeAll(async () => {
  nats = await startNats({ identities });
});
afterAll(() => nats.stop());

const raw = (identity: string): Promise<NatsConnection> => connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed(identity))), inboxPrefix: '_INBOX_none' });

/** What the server lets through, by trying all of it. */
async function allowed(identity: string): Promise<Record<string, string>> {
  const client = await raw(identity);
  const refused = new Set<string>();
  void (async () => {
    for await (const status of client.status()) {
      if (status.type === 'error' && status.error instanceof PermissionViolationError) refused.add(`${status.error.operation === 'publish' ? 'p' : 's'} ${status.error.subject}`);
    }
  })();
  for (const { subject } of rows) {
    // A wildcard is never a subject to publish to: any one that it matches stands for it.
    client.publish(subject.replace('>', 'any').replace('*', 'any'), '', { reply: 'nowhere' });
    client.subscribe(subject, { callback: () => {} });
  }
  // The server refuses in order: when it has refused this, it has answered to all before.
  client.publish('the.end', '');
  await eventually(() => refused.has('p the.end'));
  await client.close();
  return Object.fromEntries(
    rows.map(({ subject }) => {
      const published = !refused.has(`p ${subject.replace('>', 'any').replace('*', 'any')}`);
      const subscribed = !refused.has(`s ${subject}`);
      return [subject, `${published ? 'p' : ''}${subscribed ? 's' : ''}` || '-'];
    }),
  );
}

describe('permissions', () => {
  it.each(columns.map((identity, column) => ({ identity, column })))('of $identity are exactly the declared ones', async ({ identity, column }) => {
    expect(await allowed(identity)).toEqual(Object.fromEntries(rows.map(({ subject, cells }) => [subject, cells[column]])));
  });

  it('mention every message of the catalogue', () => {
    const listed = rows.map(({ subject }) => subject);
    for (const { subject } of Object.values(messages)) {
      const pattern = new RegExp(`^${subject.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^.]+')}$`);
      expect(listed.filter((one) => pattern.test(one))).not.toEqual([]);
    }
  });

  it('need to know the node and the runner', () => {
    expect(() => permissionsOf({ name: 'runner-x', role: 'runner', node: 'n' })).toThrow('needs its runner');
    expect(() => permissionsOf({ name: 'agent-x', role: 'agent' })).toThrow('needs its node');
    expect(() => permissionsOf(agentIdentity('>'))).toThrow(/subject token/);
  });

  it('refuse whoever has no identity', async () => {
    await expect(connect({ servers: nats.url, reconnect: false })).rejects.toThrow(/authorization/i);
  });
});

describe('every role', () => {
  let buses: Record<string, Bus>;
  beforeAll(async () => {
    buses = Object.fromEntries(await Promise.all(columns.map(async (name) => [name, await nats.connect(name)] as const)));
  });
  const at = (name: string): Bus => {
    const bus = buses[name];
    if (bus === undefined) throw new Error(`no bus ${name}`);
    return bus;
  };
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } };
  const order = {
    runner: 'r.1', node: 'n.1', kind: 'NetReach' as const, namespace: 'default', task: 't', taskUid: 'u', round: 1, roundStart: '2026-01-01T00:00:00Z', deadline: '2026-01-01T00:01:00Z',
    request: { durationMs: 1, qps: 1, timeoutMs: 1 }, expect: {}, targets: [], needsMaterials: false,
  };
  const ids = { kind: 'NetReach', taskUid: 'u', round: 1 };

  it('can do its part of a round, and of what goes wrong, within its rights', async () => {
    await ensureStreams(at('reporter'));
    await ensureStreams(at('scheduler'));
    await at('intake').serve({ name: 'intake', version: '1.0.0', description: 'x' }, [endpoint(messages.get, () => node)]);
    await at('scheduler').serve({ name: 'scheduler', version: '1.0.0', description: 'x' }, [endpoint(messages.materials, () => ({}))]);
    await at('reporter').serve({ name: 'reporter', version: '1.0.0', description: 'x' }, [endpoint(messages.committed, ({ rounds }) => ({ committed: rounds }))]);
    expect(await at('operator').request(messages.get, {}, { resource: 'nodes', name: 'n' })).toEqual(node);
    expect(await at('runner-r.1').request(messages.materials, { runner: 'r.1' }, { taskUid: 'u', round: 1 })).toEqual({});
    expect(await at('runner-r.1').request(messages.committed, { runner: 'r.1' }, { rounds: [] })).toEqual({ committed: [] });

    const seen: string[] = [];
    for (const name of ['gateway', 'scheduler', 'controllers', 'reporter']) await at(name).subscribe(messages.changeHead, {}, () => void seen.push(`${name} head`));
    await at('gateway').subscribe(messages.live, {}, () => void seen.push('live'));
    await at('controllers').subscribe(messages.nodeBeat, {}, () => void seen.push('beat'));
    await at('scheduler').subscribe(messages.runnerBeat, {}, () => void seen.push('runner beat'));
    await at('runner-r.1').subscribe(messages.nodeCancel, { node: 'n.1' }, () => void seen.push('cancel'));
    await at('gateway').replay(messages.report, {}, { afterSeq: 0 }, () => void seen.push('gateway report'));
    await at('reporter').consume(messages.result, { durable: 'reporter', ackWaitMs: 30_000, maxDeliver: 5, maxAckPending: 100, create: true }, async ([delivery]) => {
      seen.push('result');
      await delivery?.ack();
    });
    await ensureRunnerConsumer(at('scheduler'), 'r.1');
    await at('runner-r.1').consume(messages.work, runnerConsumeOptions('r.1'), async ([delivery]) => {
      seen.push('work');
      delivery?.working();
      if (delivery?.payload.round === 1) await delivery.ack();
      else await delivery?.reject('bad-target', 'no such target');
    });

    await at('scheduler').append(messages.work, { runner: 'r.1', ...ids }, order, { msgId: '1' });
    await at('scheduler').append(messages.work, { runner: 'r.1', ...ids, round: 2 }, { ...order, round: 2 }, { msgId: '2' });
    at('intake').publish(messages.changeHead, {}, { version: 1, ofResource: {} });
    at('scheduler').publish(messages.nodeCancel, { node: 'n.1' }, { taskUid: 'u', reason: 'r' });
    at('agent-n.1').publish(messages.nodeBeat, { node: 'n.1' }, { node: 'n.1', instance: 'i', sentAt: order.roundStart, addresses: [], capacity: {}, allocatable: {}, nodeInfo: {}, labels: {}, annotations: {}, conditions: [] });
    at('runner-r.1').publish(
      messages.runnerBeat,
      { node: 'n.1', runner: 'r.1' },
      { runner: 'r.1', node: 'n.1', runtime: 'default', instance: 'i', sentAt: order.roundStart, version: '1', ready: true, addresses: [], ports: {}, running: [], capacityQps: 1 },
    );
    at('runner-r.1').publish(
      messages.live,
      { kind: 'NetReach', namespace: 'default', task: 't', node: 'n.1' },
      { at: order.roundStart, runner: 'r.1', node: 'n.1', kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round: 1, phase: 'started', progress: 0, targets: 0, planned: 0, sent: 0, succeeded: 0, failed: 0, errors: {} },
    );
    await at('runner-r.1').append(
      messages.result,
      { runner: 'r.1', ...ids },
      { runner: 'r.1', node: 'n.1', kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round: 1, roundStart: order.roundStart, part: 1, parts: 1, targets: [] },
      { msgId: 'u:1:r.1:1' },
    );
    await at('reporter').append(
      messages.report,
      { kind: 'NetReach', namespace: 'default', task: 't' },
      {
        kind: 'NetReach', namespace: 'default', task: 't', taskUid: 'u', round: 1, roundStart: order.roundStart, closedAt: order.roundStart, state: 'succeed',
        verdict: { state: 'healthy', summary: '' }, totals: { planned: 0, sent: 0, succeeded: 0, failed: 0, unsent: 0 }, nodes: { succeeded: [], failed: [], missing: [] },
      },
      { msgId: 'u:1' },
    );
    const expected = ['beat', 'cancel', 'controllers head', 'gateway head', 'gateway report', 'live', 'reporter head', 'result', 'runner beat', 'scheduler head', 'work', 'work'];
    await eventually(() => expect([...seen].sort()).toEqual(expected));

    expect(await sweepDeadLetters(at('reporter'))).toBe(0);
    expect(await sweepDeadLetters(at('scheduler'))).toBe(0);
    await removeRunnerConsumer(at('scheduler'), 'r.1');
    const letters: string[] = [];
    await at('operator').replay(messages.dlq, {}, { afterSeq: 0 }, ({ payload }) => void letters.push(payload.reason));
    await eventually(() => expect(letters).toEqual(['bad-target']));
    for (const name of columns) expect([name, at(name).health().violations]).toEqual([name, []]);
  });

  it('lets a person use any NATS program with the default inbox', async () => {
    const person = await connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed('operator'))) });
    expect((await person.request('rounds.v1.svc.intake.get', '{"resource":"nodes","name":"n"}')).json()).toEqual(node);
    const services = new Set<string>();
    await eventually(async () => {
      for await (const reply of await person.requestMany('$SRV.PING', '', { strategy: 'timer', maxWait: 300 })) services.add(reply.json<{ name: string }>().name);
      expect([...services].sort()).toEqual(['intake', 'reporter', 'scheduler']);
    });
    const listed = (await person.request('$JS.API.STREAM.NAMES', '')).json<{ streams: string[] }>();
    expect(listed.streams.sort()).toEqual(['DLQ', 'REPORT', 'RESULT', 'WORK']);
    const stored = (await person.request('$JS.API.STREAM.MSG.GET.REPORT', '{"last_by_subj":"rounds.v1.report.>"}')).json<{ message: { data: string } }>();
    expect(JSON.parse(Buffer.from(stored.message.data, 'base64').toString())).toMatchObject({ taskUid: 'u', round: 1 });
    await person.close();
  });

  it('lets a person read along, but neither requests nor as a member of a group', async () => {
    const person = await connect({ servers: nats.url, authenticator: nkeyAuthenticator(new TextEncoder().encode(nats.seed('operator'))) });
    const heard: string[] = [];
    /** A refusal comes here too, as the error. */
    const hears = (as: string) => (error: Error | null, msg: { subject: string }): void => void (error === null && heard.push(`${as}${msg.subject}`));
    const refused: string[] = [];
    void (async () => {
      for await (const status of person.status()) if (status.type === 'error' && status.error instanceof PermissionViolationError) refused.push(`${status.error.subject} ${status.error.queue ?? ''}`);
    })();
    person.subscribe('rounds.v1.>', { callback: hears('') });
    for (const subject of ['rounds.v1.>', 'rounds.v1.*.>', 'rounds.v1.svc.>', 'rounds.v1.svc.intake.write', 'rounds.v1.live.>']) person.subscribe(subject, { queue: 'q', callback: hears('stolen ') });
    await person.flush();
    const served = await at('intake').serve({ name: 'intake', version: '1.0.0', description: 'x' }, [endpoint(messages.write, () => ({ object: node, warnings: [] }))]);
    for (let count = 0; count < 20; count += 1) await at('gateway').request(messages.write, {}, { operation: 'create', resource: 'secrets', object: { data: { password: 'aHVudGVyMg==' } } });
    at('intake').publish(messages.changeHead, {}, { version: 2, ofResource: {} });
    await eventually(() => expect(heard).toContain('rounds.v1.change-head'));
    expect(heard.filter((subject) => subject.includes('svc') || subject.includes('stolen'))).toEqual([]);
    expect(refused).toHaveLength(5);
    await served.stop();
    await person.close();
  });

  it('shows a violation in its health, and fails at once where there is an answer to wait for', async () => {
    const runner = at('runner-r.1');
    runner.publish(messages.nodeBeat, { node: 'n.2' }, { node: 'n.2', instance: 'i', sentAt: order.roundStart, addresses: [], capacity: {}, allocatable: {}, nodeInfo: {}, labels: {}, annotations: {}, conditions: [] });
    await eventually(() => expect(runner.health().violations).toEqual(['publish to rounds.v1.beat.n_2']));
    // With the refusal, not for want of an answer.
    await expect(runner.append(messages.work, { runner: 'r.2', ...ids }, order, { msgId: 'x' })).rejects.toThrow('may not publish to rounds.v1.work.r_2.netreach.u.1');
    await runner.subscribe(messages.live, {}, () => {});
    await eventually(() => expect(runner.health().violations).toContain('subscribe to rounds.v1.live.*.*.*.*'));
  });
});
