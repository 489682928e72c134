import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messages } from '@roundsman/bus';
import { KubectlCluster } from './kubectl-cluster.ts';

const json = { 'content-type': 'application/json' };
const yaml = { 'content-type': 'application/yaml' };
const tasks = '/apis/roundsman.io/v1/namespaces/default/netreaches';
const netReach = (spec: unknown, metadata: Record<string, unknown> = { name: 'bad' }): string => JSON.stringify({ apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata, spec });
const http = (spec: unknown): string => JSON.stringify({ apiVersion: 'roundsman.io/v1', kind: 'AppHttpHealthy', metadata: { name: 'bad' }, spec });
const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]', ...'bcdefghi'.split('').map((name, i) => `${name}: &${name} [${Array(9).fill(`*${'abcdefgh'[i]}`).join()}]`)].join('\n');

let cluster: KubectlCluster;
beforeAll(async () => {
  cluster = await KubectlCluster.start();
  await cluster.must(['create', '-f', '-'], { input: netReach({}, { name: 'there' }) });
}, 120_000);
afterAll(() => cluster?.stop());

/** Everything stored, and the version it is at: any write would raise it. */
const state = async (): Promise<unknown> => (await cluster.http('/apis/roundsman.io/v1/netreaches')).json;

interface Bad {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

describe('bad input is refused, says what and where, and changes nothing', () => {
  it.each<[string, Bad, number, RegExp]>([
    ['an unknown field', { body: netReach({ bogus: 1 }), path: `${tasks}?fieldValidation=Strict` }, 400, /unknown field "spec\.bogus"/],
    ['a key given twice', { body: '{"apiVersion":"roundsman.io/v1","kind":"NetReach","metadata":{"name":"bad"},"spec":{"request":{"qps":1,"qps":2}}}', path: `${tasks}?fieldValidation=Strict` }, 400, /duplicate field "spec\.request\.qps"/],
    ['a wrong type', { body: netReach({ suspend: 'yes' }) }, 422, /spec\.suspend/],
    ['a negative number', { body: netReach({ request: { qps: -1 } }) }, 422, /spec\.request\.qps: Invalid value: -1/],
    ['zero where it is senseless', { body: netReach({ request: { durationInSecond: 0 } }) }, 422, /spec\.request\.durationInSecond/],
    ['a schedule that cannot work', { body: netReach({ schedule: { schedule: 'now and then' } }) }, 422, /spec\.schedule\.schedule/],
    ['two forms of a schedule', { body: netReach({ schedule: { schedule: '1 1', intervalSeconds: 5 } }) }, 422, /spec\.schedule/],
    ['a round longer than the interval', { body: netReach({ schedule: { intervalSeconds: 10, roundTimeoutSeconds: 20 } }) }, 422, /roundTimeoutSeconds/],
    ['more than the capacity, which is named', { body: netReach({ request: { qps: 9_000_000 } }) }, 422, /spec\.request\.qps.*\d{4,}/],
    ['a header without a colon', { body: http({ target: { host: 'http://x', header: ['nonsense'] } }), path: '/apis/roundsman.io/v1/namespaces/default/apphttphealthies' }, 422, /spec\.target\.header\[0\]/],
    ['a target the policy forbids', { body: http({ target: { host: 'http://169.254.169.254/' } }), path: '/apis/roundsman.io/v1/namespaces/default/apphttphealthies' }, 422, /spec\.target\.host/],
    ['a name that would break a subject', { body: netReach({}, { name: 'a*b>c' }) }, 422, /metadata\.name/],
    ['no name', { body: netReach({}, {}) }, 422, /metadata\.name: Required value: name or generateName/],
    ['another namespace than the path', { body: netReach({}, { name: 'bad', namespace: 'kube-system' }) }, 400, /"kube-system" is not "default"/],
    ['a namespace that is not there', { body: netReach({}), path: '/apis/roundsman.io/v1/namespaces/nowhere/netreaches' }, 404, /namespaces "nowhere" not found/],
    ['a namespace that cannot be one', { method: 'GET', path: '/api/v1/namespaces/No%20Such/configmaps' }, 400, /cannot be one/],
    ['another kind than the path', { body: http({ target: { host: 'x' } }) }, 400, /AppHttpHealthy.*NetReach/],
    ['another version', { body: netReach({}).replace('roundsman.io/v1', 'roundsman.io/v9') }, 400, /roundsman\.io\/v9/],
    ['a list', { body: '[]' }, 400, /one NetReach object/],
    ['broken JSON', { body: '{"a": 1,\n "b": }' }, 400, /broken JSON.*line 2, column 7/],
    ['broken YAML', { body: 'a: 1\nb: [1, 2\nc: 3', headers: yaml }, 400, /broken YAML.*line \d+, column \d+/],
    ['a YAML key given twice', { body: 'kind: NetReach\nspec: {}\nkind: NetReach', headers: yaml }, 400, /unique at line 3/],
    ['an alias bomb', { body: bomb, headers: yaml }, 400, /alias/],
    ['a huge body', { body: `{"a": "${'x'.repeat(3 << 20)}"}` }, 413, /larger than 3145728 bytes/],
    ['broken protobuf', { body: 'k8s\0', headers: { 'content-type': 'application/vnd.kubernetes.protobuf' } }, 400, /broken protobuf: the envelope names no kind/],
    ['a form', { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415, /application\/json/],
    ['an answer that nobody can give', { method: 'GET', headers: { accept: 'text/html' } }, 406, /text\/html/],
    ['an unknown resource', { method: 'GET', path: '/apis/roundsman.io/v1/nonsense' }, 404, /could not find the requested resource/],
    ['an unknown path', { method: 'GET', path: '/index.html' }, 404, /could not find the requested resource/],
    ['a broken encoding', { method: 'GET', path: '/api/v1/%zz' }, 400, /percent-encoding/],
    ['a NUL', { method: 'GET', path: `${tasks}?labelSelector=a%3Db%00` }, 400, /NUL/],
    ['a field that cannot be selected by', { method: 'GET', path: `${tasks}?fieldSelector=spec.x%3Dy` }, 400, /field label not supported: spec\.x/],
    ['a broken label selector', { method: 'GET', path: `${tasks}?labelSelector=a+in+(b` }, 400, /unable to parse requirement/],
    ['a limit that is no number', { method: 'GET', path: `${tasks}?limit=many` }, 400, /limit/],
    ['a continue key of somebody else', { method: 'GET', path: `${tasks}?continue=nonsense&limit=1` }, 400, /continue/],
    ['an unknown field validation', { body: netReach({}), path: `${tasks}?fieldValidation=Maybe` }, 400, /Strict, Warn, Ignore/],
    ['an unknown dry run', { body: netReach({}), path: `${tasks}?dryRun=Some` }, 422, /dryRun/],
    ['a stale version', { method: 'PUT', path: `${tasks}/there`, body: netReach({}, { name: 'there', resourceVersion: '1' }) }, 409, /has been modified/],
    ['another name than the path', { method: 'PUT', path: `${tasks}/there`, body: netReach({}, { name: 'other' }) }, 400, /\(other\).*\(there\)/],
    ['a change of what is not there', { method: 'PUT', path: `${tasks}/nobody`, body: netReach({}, { name: 'nobody' }) }, 404, /"nobody" not found/],
    ['a patch of an unknown type', { method: 'PATCH', path: `${tasks}/there`, body: '{}' }, 415, /merge-patch\+json/],
    ['a strategic merge patch of a kind without merge keys', { method: 'PATCH', path: `${tasks}/there`, body: '{}', headers: { 'content-type': 'application/strategic-merge-patch+json' } }, 415, /merge-patch\+json/],
    ['a JSON patch that is none', { method: 'PATCH', path: `${tasks}/there`, body: '{}', headers: { 'content-type': 'application/json-patch+json' } }, 400, /not a JSON patch/],
    ['an apply without a manager', { method: 'PATCH', path: `${tasks}/there`, body: netReach({}, { name: 'there' }), headers: { 'content-type': 'application/apply-patch+yaml' } }, 400, /fieldManager/],
    ['a delete with another uid', { method: 'DELETE', path: `${tasks}/there`, body: '{"preconditions":{"uid":"x"}}' }, 409, /UID in precondition/],
    ['delete options that are none', { method: 'DELETE', path: `${tasks}/there`, body: '{"propagationPolicy":"Sometimes"}' }, 400, /propagationPolicy/],
    ['a write of what the product writes', { path: '/apis/roundsman.io/v1/runners', body: JSON.stringify({ metadata: { name: 'bad' } }) }, 403, /written by Roundsman itself/],
    ['a write of a report', { path: '/apis/roundsman.io/v1/namespaces/default/reports', body: '{}' }, 405, /POST is not supported here; GET is/],
    ['a method that nothing answers', { method: 'PROPFIND', path: tasks }, 405, /PROPFIND/],
    ['no token', { method: 'GET', token: null }, 401, /Unauthorized/],
    ['a wrong token', { method: 'GET', token: 'a-token-for-this-test-onlx' }, 401, /Unauthorized/],
  ])('%s', async (_what, bad, status, message) => {
    const before = await state();
    const answer = await cluster.http(bad.path ?? tasks, {
      method: bad.method ?? 'POST',
      headers: bad.headers ?? (bad.body === undefined ? {} : json),
      ...(bad.body === undefined ? {} : { body: bad.body }),
      ...(bad.token === undefined ? {} : { token: bad.token }),
    });
    expect(answer).toMatchObject({ status, json: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status } });
    expect(answer.json['message']).toMatch(message);
    if (status === 405) expect(answer.headers.get('allow')).toMatch(/GET/);
    if (status === 422 && !/dryRun/.test(message.source)) expect((answer.json['details'] as { causes: unknown[] }).causes.length).toBeGreaterThan(0);
    expect(await state()).toEqual(before);
  });

  it('headers that are too large, and what is no HTTP', async () => {
    expect(await raw(`GET /api HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 400 [^]*headers of the request are larger than 65536 bytes/);
    expect(await raw('hello there\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*"kind":"Status"[^]*not an HTTP\/1\.1 request/);
  });

  it('unknown fields are only warned of when the client does not ask for more', async () => {
    const answer = await cluster.http(`${tasks}?dryRun=All`, { method: 'POST', body: netReach({ bogus: 1 }), headers: json });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('warning')).toBe('299 - "unknown field \\"spec.bogus\\""');
  });

  it('health needs no token; metrics do', async () => {
    for (const path of ['/healthz', '/livez', '/readyz', '/readyz/gateway']) expect((await cluster.http(path, { token: null })).status).toBe(200);
    expect((await cluster.http('/readyz/nobody', { token: null })).status).toBe(404);
    expect((await cluster.http('/metrics', { token: null })).status).toBe(401);
    const { text } = await cluster.http('/metrics');
    expect(text).toMatch(/roundsman_gateway_http_request_duration_seconds_count\{method="POST",route="create netreaches",code="422"\} \d+/);
  });

  it('a kind that nobody has is named as such, not as a fault of the validation', async () => {
    const { code, stderr } = await cluster.kubectl(['apply', '-f', '-'], { input: netReach({}).replace('NetReach', 'NetReachh') });
    expect(code).toBe(1);
    expect(stderr).toContain('no matches for kind "NetReachh" in version "roundsman.io/v1"');
    expect(stderr).not.toContain('--validate=false');
  });

  it('when nobody stores objects, writes say so at once and reads go on', async () => {
    await cluster.stopIntake();
    const started = Date.now();
    const answer = await cluster.http(tasks, { method: 'POST', body: netReach({}), headers: json });
    expect(answer).toMatchObject({ status: 503, json: { reason: 'ServiceUnavailable' } });
    expect(answer.headers.get('retry-after')).toBe('1');
    // Nobody waited for an answer.
    expect(Date.now() - started).toBeLessThan(messages.write.timeoutMs);
    expect(await cluster.must(['get', 'nr', 'there', '-o', 'name'])).toMatch(/there/);
    await cluster.startIntake();
    await cluster.must(['label', 'nr', 'there', 'again=yes']);
  });
});

function raw(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(cluster.url);
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}
