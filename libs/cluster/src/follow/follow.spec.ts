import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { eventually } from '@roundsman/testkit';
import type { Cluster, Followed } from '../cluster.ts';
import { openCluster } from '../open-cluster.ts';
import { resources } from '../resources.ts';
import { json, line, podOf, refuse, ScriptedServer, type Asked } from '../testing/scripted-server.ts';

let server: ScriptedServer;
let cluster: Cluster;
/** What there is when it is listed. */
let pods: object[];
let version: number;
/** Watches that are open, the newest last. */
let watches: { readonly asked: Asked; readonly stream: ServerResponse }[];
let onWatch: (asked: Asked, response: ServerResponse) => void;

const open = (followTimes: object = {}): Cluster => openCluster({ kubeconfig: server.kubeconfig, userAgent: 'spec', answerMs: 3_000, followTimes: { retryMs: 10, maxRetryMs: 50, staleMs: 100, ...followTimes } });
beforeEach(async () => {
  server = await ScriptedServer.start();
  [pods, version, watches] = [[podOf('a', 1), podOf('b', 2)], 2, []];
  onWatch = (asked, stream) => {
    stream.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    watches.push({ asked, stream });
  };
  server.answer = (asked, response) => (asked.query['watch'] ? onWatch(asked, response) : json(response, { kind: 'PodList', metadata: { resourceVersion: String(version) }, items: pods }));
  cluster = open();
});
afterEach(async () => {
  cluster.close();
  await server.stop();
});

function follow(): { followed: Followed<KubeObject>; seen: string[] } {
  const followed = cluster.follow(resources.pods, { namespace: 'x', labelSelector: 'app=web' });
  const seen: string[] = [];
  followed.onChange(({ type, object: { metadata, kind } }) => seen.push(`${type} ${kind} ${metadata.name}@${metadata.resourceVersion}`));
  return { followed, seen };
}
const watching = (count: number) => eventually(() => expect(watches).toHaveLength(count)).then(() => watches[count - 1] as (typeof watches)[number]);
const lists = (): Asked[] => server.asked.filter(({ query }) => !query['watch']);

describe('what is followed', () => {
  it('is listed, then watched from the version of the list', async () => {
    const { followed, seen } = follow();
    expect(followed.problem()).toBe('pods are not listed yet');
    await followed.synced();
    const { asked, stream } = await watching(1);
    expect(asked).toMatchObject({ path: '/api/v1/namespaces/x/pods', query: { resourceVersion: '2', allowWatchBookmarks: 'true', labelSelector: 'app=web', timeoutSeconds: '300' }, headers: { authorization: 'Bearer secret', 'user-agent': 'spec' } });
    stream.write(line('MODIFIED', podOf('a', 3)) + line('DELETED', podOf('b', 4)) + line('ADDED', podOf('c', 5)));
    await eventually(() => expect(seen).toEqual(['ADDED Pod a@1', 'ADDED Pod b@2', 'MODIFIED Pod a@3', 'DELETED Pod b@4', 'ADDED Pod c@5']));
    expect(followed.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'c']);
    expect([followed.get('x', 'a')?.metadata.resourceVersion, followed.get('y', 'a'), followed.problem()]).toEqual(['3', undefined, undefined]);
  });

  it('goes on where the server closed the stream, from the last event or bookmark, and lists nothing anew', async () => {
    const { followed, seen } = follow();
    const first = await watching(1);
    first.stream.end(line('MODIFIED', podOf('a', 3)));
    const second = await watching(2);
    expect(second.asked.query['resourceVersion']).toBe('3');
    second.stream.write(line('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: '70' } }));
    second.stream.write(line('ADDED', podOf('c', 71)).slice(0, 40), () => second.stream.destroy());
    const third = await watching(3);
    expect(third.asked.query['resourceVersion']).toBe('70');
    third.stream.write(line('ADDED', podOf('c', 71)));
    await eventually(() => expect(seen).toEqual(['ADDED Pod a@1', 'ADDED Pod b@2', 'MODIFIED Pod a@3', 'ADDED Pod c@71']));
    expect(lists()).toHaveLength(1);
    expect(followed.problem()).toBeUndefined();
  });

  it('reads events whatever pieces they come in', async () => {
    const { followed } = follow();
    const { stream } = await watching(1);
    const bytes = Buffer.from(line('MODIFIED', podOf('a', 3, { annotations: { a: 'ä€🙂'.repeat(20) } })) + line('MODIFIED', podOf('b', 4)));
    for (const byte of bytes) stream.write(Buffer.of(byte));
    await eventually(() => expect(followed.get('x', 'b')?.metadata.resourceVersion).toBe('4'));
    expect(followed.get('x', 'a')?.metadata.annotations).toEqual({ a: 'ä€🙂'.repeat(20) });
  });

  it('is listed anew when the kubeconfig names another server', async () => {
    const { followed, seen } = follow();
    const { stream } = await watching(1);
    const other = await ScriptedServer.start();
    other.answer = (asked, response) => (asked.query['watch'] ? onWatch(asked, response) : json(response, { metadata: { resourceVersion: '1' }, items: [podOf('z', 1)] }));
    writeFileSync(server.kubeconfig, readFileSync(other.kubeconfig));
    stream.end();
    await eventually(() => expect(followed.list().map(({ metadata }) => metadata.name)).toEqual(['z']));
    expect(seen.slice(2)).toEqual(['DELETED Pod a@1', 'DELETED Pod b@2', 'ADDED Pod z@1']);
    cluster.close();
    await other.stop();
  });

  it.each([
    ['an event says so', (response: ServerResponse) => void response.end(line('ERROR', { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }))],
    ['an event says something else', (response: ServerResponse) => void response.end(line('ERROR', { kind: 'Status', code: 500, reason: 'InternalError', message: 'etcd event received with PrevKv=nil' }))],
    ['the answer says so', (response: ServerResponse) => refuse(response, 410, 'Expired', 'too old resource version')],
  ])('is listed anew when it cannot go on from its version (%s), and only the differences are told', async (_name, gone) => {
    const { followed, seen } = follow();
    const { stream } = await watching(1);
    seen.length = 0;
    [pods, version] = [[podOf('a', 1), podOf('b', 8, { uid: 'another' }), podOf('c', 9)], 9];
    const whole = onWatch;
    onWatch = (_asked, response) => {
      onWatch = whole;
      gone(response);
    };
    stream.end();
    expect((await watching(2)).asked.query['resourceVersion']).toBe('9');
    expect(seen).toEqual(['DELETED Pod b@2', 'ADDED Pod b@8', 'ADDED Pod c@9']);
    expect(followed.list()).toHaveLength(3);
  });

  it('is begun anew when nothing comes at all: the connection may be dead', async () => {
    cluster.close();
    cluster = open({ silentMs: 100 });
    const { followed } = follow();
    await watching(3);
    expect(watches.map(({ asked }) => asked.query['resourceVersion'])).toEqual(['2', '2', '2']);
    expect(lists()).toHaveLength(1);
    expect(followed.problem()).toBeUndefined();
  });

  it('keeps what it has while the server does not answer, says so, and goes on when it does', async () => {
    const { followed } = follow();
    const { stream } = await watching(1);
    const whole = onWatch;
    onWatch = () => undefined;
    stream.end();
    await eventually(() => expect(followed.problem()).toMatch(/^pods are as they were at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: GET http:\/\/127.0.0.1:\d+\/api\/v1\/namespaces\/x\/pods: no answer within 3 s$/));
    expect(followed.list()).toHaveLength(2);
    expect(cluster.problem()).toContain('no answer');
    onWatch = whole;
    await watching(2);
    await eventually(() => expect([followed.problem(), cluster.problem()]).toEqual([undefined, undefined]));
    expect(lists()).toHaveLength(1);
  });

  it('waits longer and longer for a server that closes every stream at once', async () => {
    onWatch = (_asked, response) => {
      watches.push({ asked: _asked, stream: response });
      response.end();
    };
    const began = performance.now();
    follow();
    await eventually(() => expect(watches.length).toBeGreaterThan(12));
    // Twelve pauses: one of none, 10, 20, 40 and then 50 ms, each at least half as long.
    expect(performance.now() - began).toBeGreaterThan(200);
  });

  it('says what the server refuses; whoever waits for the list may stop waiting', async () => {
    server.answer = (_asked, response) => refuse(response, 403, 'Forbidden', 'pods is forbidden: User "u" cannot list resource "pods"');
    const { followed } = follow();
    await eventually(() => expect(followed.problem()).toBe('pods are not listed yet: pods is forbidden: User "u" cannot list resource "pods"'));
    await expect(followed.synced(AbortSignal.timeout(10))).rejects.toThrow('timeout');
    const waiting = expect(followed.synced()).rejects.toThrow('pods are no longer followed');
    followed.stop();
    await waiting;
  });

  it('leaves nothing behind when it ends', async () => {
    const { followed, seen } = follow();
    const { stream } = await watching(1);
    followed.stop();
    await eventually(() => expect(stream.destroyed || stream.socket?.destroyed).toBe(true));
    stream.write(line('ADDED', podOf('z', 99)));
    const asked = server.asked.length;
    follow();
    await watching(2);
    cluster.close();
    await eventually(() => expect(server.connections).toBe(0));
    expect(server.asked.length).toBe(asked + 2);
    expect(seen).toEqual(['ADDED Pod a@1', 'ADDED Pod b@2']);
    await expect(cluster.list(resources.pods)).rejects.toThrow('closed');
  });
});
