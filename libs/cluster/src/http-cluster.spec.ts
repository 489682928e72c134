import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '@roundsman/api';
import { ClusterError, type Cluster } from './cluster.ts';
import { openCluster } from './open-cluster.ts';
import { resources } from './resources.ts';
import { json, podOf, refuse, ScriptedServer } from './testing/scripted-server.ts';

let server: ScriptedServer;
let cluster: Cluster;
let warnings: object[];
const pod = podOf('a', 1) as KubeObject;
const authorization = (): (string | undefined)[] => server.asked.map(({ headers }) => headers.authorization);

beforeEach(async () => {
  server = await ScriptedServer.start();
  warnings = [];
  cluster = openCluster({ kubeconfig: server.kubeconfig, userAgent: 'spec', answerMs: 3_000, log: { warn: (fields) => warnings.push(fields) } });
});
afterEach(async () => {
  cluster.close();
  await server.stop();
});

describe('a cluster', () => {
  it('applies as roundsman and takes over conflicts; what the server warns of is told once', async () => {
    server.answer = (_asked, response) => {
      response.setHeader('warning', '299 - "unknown field \\"spec.x\\"", 299 - "old"');
      json(response, pod);
    };
    await cluster.apply(pod);
    await cluster.apply(pod);
    expect(server.asked[0]).toMatchObject({ method: 'PATCH', path: '/api/v1/namespaces/x/pods/a', query: { fieldManager: 'roundsman', force: 'true' }, headers: { 'content-type': 'application/apply-patch+yaml' } });
    expect(JSON.parse(server.asked[0]?.body ?? '')).toEqual(pod);
    expect(warnings).toEqual([{ warning: 'Pod: unknown field "spec.x"', server: server.url }, { warning: 'Pod: old', server: server.url }]);
  });

  it('asks the server for the path of a kind that it does not know, and for what it serves', async () => {
    server.answer = ({ path }, response) => {
      if (path === '/apis/roundsman.io/v1') json(response, { resources: [{ name: 'netreaches', kind: 'NetReach', namespaced: true }, { name: 'netreaches/status', kind: 'NetReach', namespaced: true }] });
      else if (path.startsWith('/apis/roundsman.io/v1/')) json(response, pod);
      else refuse(response, 404, 'NotFound', 'the server could not find the requested resource');
    };
    await cluster.apply({ ...pod, apiVersion: 'roundsman.io/v1', kind: 'NetReach' });
    expect(server.asked.map(({ path }) => path)).toEqual(['/apis/roundsman.io/v1', '/apis/roundsman.io/v1/namespaces/x/netreaches/a']);
    expect([await cluster.serves('roundsman.io/v1'), await cluster.serves('batch/v1')]).toEqual([true, false]);
    await expect(cluster.apply({ ...pod, apiVersion: 'roundsman.io/v1', kind: 'Other' })).rejects.toThrow('no matches for kind "Other" in version "roundsman.io/v1"');
    expect(server.asked).toHaveLength(3);
  });

  it('lists page by page; when the pages took too long, all at once', async () => {
    let expired = false;
    server.answer = ({ query }, response) => {
      const { limit, continue: from } = query;
      if (limit === undefined) json(response, { metadata: { resourceVersion: '9' }, items: [podOf('x', 9)] });
      else if (from === undefined) json(response, { metadata: { resourceVersion: '5', continue: 'next' }, items: [podOf('a', 1)] });
      else if (expired) refuse(response, 410, 'Expired', 'the provided continue parameter is too old');
      else json(response, { metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'b' } }] });
    };
    expect(await cluster.list(resources.pods)).toMatchObject([{ metadata: { name: 'a' } }, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'b' } }]);
    expect(server.asked[0]?.path).toBe('/api/v1/pods');
    expired = true;
    expect(await cluster.list(resources.pods)).toMatchObject([{ metadata: { name: 'x' } }]);
  });

  it('deletes what has the uid and nothing else', async () => {
    server.answer = ({ method }, response) => (method === 'GET' ? json(response, pod) : refuse(response, 409, 'Conflict', 'Precondition failed: UID in precondition: old, UID in object meta: uid-a'));
    await cluster.delete(resources.pods, 'x', 'a', { uid: 'old', propagationPolicy: 'Background', gracePeriodSeconds: 0 });
    expect(JSON.parse(server.asked[0]?.body ?? '')).toEqual({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'old' }, propagationPolicy: 'Background', gracePeriodSeconds: 0 });
    await expect(cluster.delete(resources.pods, 'x', 'a', { uid: 'uid-a' })).rejects.toThrow('Precondition failed');
    server.answer = (_asked, response) => refuse(response, 404, 'NotFound', 'pods "a" not found');
    await cluster.delete(resources.pods, 'x', 'a');
    expect(await cluster.get(resources.pods, 'x', 'a')).toBeUndefined();
  });

  it('says in the words of the server, or of what stands before it, why something was refused', async () => {
    server.answer = (_asked, response) => refuse(response, 403, 'Forbidden', 'pods "a" is forbidden');
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toMatchObject({ name: 'ClusterError', message: 'pods "a" is forbidden', code: 403, reason: 'Forbidden' });
    server.answer = (_asked, response) => void response.writeHead(502).end('<h1>Bad Gateway</h1>\n');
    const error = await cluster.list(resources.pods).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ClusterError);
    expect(error).toMatchObject({ message: '<h1>Bad Gateway</h1>', code: 502, reason: undefined });
    // It answers: that is no trouble with the server.
    expect(cluster.problem()).toBeUndefined();
  });

  it('asks a busy server again when that says', async () => {
    server.answer = (_asked, response) => {
      if (server.asked.length < 3) response.writeHead(429, { 'retry-after': '0' }).end();
      else json(response, pod);
    };
    expect(await cluster.get(resources.pods, 'x', 'a')).toEqual(pod);
    expect(server.asked).toHaveLength(3);
  });

  it('does not wait for a server that does not answer, nor for an answer that does not end', async () => {
    server.answer = () => undefined;
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow(`GET ${server.url}/api/v1/namespaces/x/pods/a: no answer within 3 s`);
    expect(cluster.problem()).toContain('no answer within 3 s');
    server.answer = (_asked, response) => void response.writeHead(200).write('{"kind":');
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow('the answer did not come to its end within 3 s');
    server.answer = (_asked, response) => void response.writeHead(500).write('{"kind":');
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toMatchObject({ code: 500 });
  });

  it('asks once more when a connection that was kept is closed', async () => {
    server.answer = (_asked, response) => json(response, pod);
    await cluster.get(resources.pods, 'x', 'a');
    server.answer = (asked, response) => {
      if (server.asked.length === 2) response.socket?.destroy();
      else json(response, pod);
    };
    expect(await cluster.get(resources.pods, 'x', 'a')).toEqual(pod);
    expect(server.asked).toHaveLength(3);
  });
});

describe('a kubeconfig', () => {
  it('may come later and change', async () => {
    server.answer = (_asked, response) => json(response, pod);
    rmSync(server.kubeconfig);
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow(`cannot read the kubeconfig ${server.kubeconfig}: it is not there`);
    expect([cluster.server, cluster.problem()]).toEqual([server.kubeconfig, expect.stringContaining('it is not there')]);
    server.writeKubeconfig();
    await cluster.get(resources.pods, 'x', 'a');
    server.writeKubeconfig({ token: 'another-secret' });
    await cluster.get(resources.pods, 'x', 'a');
    expect(authorization()).toEqual(['Bearer secret', 'Bearer another-secret']);
    expect([cluster.server, cluster.problem()]).toEqual([server.url, undefined]);
    writeFileSync(server.kubeconfig, 'clusters: [');
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow(`cannot read the kubeconfig ${server.kubeconfig}: `);
    writeFileSync(server.kubeconfig, '{}');
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow('has no cluster in its current context');
  });

  it('may name a program that logs in', async () => {
    server.answer = (_asked, response) => json(response, pod);
    const program = join(server.folder, 'login.sh');
    writeFileSync(program, `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"of-a-program"}}'`);
    server.writeKubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/sh', args: [program] } });
    await cluster.get(resources.pods, 'x', 'a');
    expect(authorization()).toEqual(['Bearer of-a-program']);
    server.writeKubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/sh', args: ['-c', 'echo who are you >&2; exit 1'] } });
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow(/cannot log in to http.*: who are you/);
    server.writeKubeconfig({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command: '/bin/sleep', args: ['6'] } });
    await expect(cluster.get(resources.pods, 'x', 'a')).rejects.toThrow('no answer within 3 s');
  });

  it('may be the service account of the pod, where there is one', async () => {
    const none = openCluster({ kubeconfig: 'in-cluster', userAgent: 'spec' });
    await expect(none.list(resources.pods)).rejects.toThrow('this process runs in no pod of Kubernetes');
    none.close();
  });
});
