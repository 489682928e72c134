import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { parse } from 'yaml';
import { KubectlCluster } from './kubectl-cluster.ts';
import { watching } from './kubectl-watching.ts';

const task = (name: string, spec = 'schedule: {intervalSeconds: 60, roundNumber: 2, roundTimeoutSeconds: 20}\n  request: {qps: 5, durationInSecond: 2}'): string =>
  `apiVersion: roundsman.io/v1\nkind: NetReach\nmetadata:\n  name: ${name}\nspec:\n  ${spec}\n`;
const configMap = (name: string, data: string, namespace = 'default'): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${namespace}}\ndata: ${data}\n`;

interface Thing {
  metadata: { name: string; uid: string; resourceVersion: string; generation: number; labels?: Record<string, string>; annotations?: Record<string, string>; finalizers?: string[]; managedFields?: { manager: string; operation: string }[] };
  spec: { suspend: boolean; request: { qps: number; durationInSecond: number } };
  data?: Record<string, string>;
}

let cluster: KubectlCluster;
const kubectl = (...args: string[]): Promise<string> => cluster.must(args);
const apply = (manifest: string, ...args: string[]): Promise<string> => cluster.must(['apply', ...args, '-f', '-'], { input: manifest });
const get = async (...args: string[]): Promise<Thing> => JSON.parse(await kubectl('get', ...args, '-o', 'json')) as Thing;
const exists = async (...args: string[]): Promise<boolean> => (await cluster.kubectl(['get', ...args])).code === 0;

beforeAll(async () => {
  cluster = await KubectlCluster.start();
}, 120_000);
afterAll(() => cluster?.stop());

describe('what the server is', () => {
  it('version, api-versions, api-resources', async () => {
    expect(await kubectl('version')).toMatch(/Server Version: v1\.32\.0\+roundsman\.\d/);
    expect((await kubectl('api-versions')).trim().split('\n')).toEqual([
      'apps/v1', 'authentication.k8s.io/v1', 'authorization.k8s.io/v1', 'autoscaling/v1', 'autoscaling/v2', 'batch/v1', 'coordination.k8s.io/v1', 'discovery.k8s.io/v1', 'kdoctor.io/v1beta1', 'metrics.k8s.io/v1beta1',
      'networking.k8s.io/v1', 'policy/v1', 'roundsman.io/v1', 'scheduling.k8s.io/v1', 'storage.k8s.io/v1', 'system.kdoctor.io/v1beta1', 'v1',
    ]);
    const resources = await kubectl('api-resources', '--no-headers');
    expect(resources).toMatch(/netreaches +nr +roundsman\.io\/v1 +true +NetReach/);
    expect(resources).toMatch(/runners +roundsman\.io\/v1 +false +Runner/);
    expect(resources).toMatch(/netdnses +kdoctor\.io\/v1beta1 +false +Netdns/);
    expect(resources).toMatch(/kdoctorreports +system\.kdoctor\.io\/v1beta1 +true +KdoctorReport/);
  });

  it('explain, by field, recursively and in another version', async () => {
    expect(await kubectl('explain', 'netreach.spec.request.qps')).toMatch(/Requests per second/);
    expect(await kubectl('explain', 'netreach', '--recursive')).toMatch(/intervalSeconds\t<integer>/);
    expect(await kubectl('explain', 'netdns.spec', '--api-version=kdoctor.io/v1beta1')).toMatch(/GROUP: +kdoctor\.io/);
    expect(await kubectl('explain', 'configmap.data')).toMatch(/VERSION: +v1/);
    expect(await kubectl('explain', 'report.status')).toMatch(/verdict/);
  });

  it('auth whoami and can-i', async () => {
    expect(await kubectl('auth', 'whoami')).toMatch(/Username +roundsman:admin/);
    expect((await kubectl('auth', 'can-i', 'create', 'netreaches')).trim()).toBe('yes');
    expect(await kubectl('auth', 'can-i', '--list')).toMatch(/\*\.\*/);
  });

  it('legacy discovery says the same as the aggregated one', async () => {
    const { json } = await cluster.http('/apis');
    expect(json).toMatchObject({ kind: 'APIGroupList' });
    const { json: core } = await cluster.http('/api/v1');
    expect((core['resources'] as { name: string }[]).map(({ name }) => name)).toEqual(expect.arrayContaining(['namespaces', 'namespaces/status', 'events', 'configmaps']));
    const aggregated = await cluster.http('/apis', { headers: { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' } });
    expect(aggregated.headers.get('content-type')).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
    const groups = (aggregated.json['items'] as { metadata: { name: string } }[]).map(({ metadata }) => metadata.name);
    expect(groups).toEqual((json['groups'] as { name: string }[]).map(({ name }) => name));
  });
});

describe('create, get, delete', () => {
  it('create -f stores the object with its defaults; a second create is refused', async () => {
    expect(await cluster.must(['create', '-f', '-'], { input: task('made') })).toBe('netreach.roundsman.io/made created\n');
    expect(await get('nr', 'made')).toMatchObject({ metadata: { name: 'made', generation: 1 }, spec: { suspend: false, request: { qps: 5 } } });
    const again = await cluster.kubectl(['create', '-f', '-'], { input: task('made') });
    expect(again.stderr).toMatch(/AlreadyExists.*netreaches\.roundsman\.io "made" already exists/s);
  });

  it('generateName, and names with dots', async () => {
    const made = await cluster.must(['create', '-f', '-'], { input: task('x').replace('name: x', 'generateName: any-') });
    expect(made).toMatch(/^netreach\.roundsman\.io\/any-[a-z0-9]{5} created/);
    await apply(task('with.dots.in-it'));
    expect((await get('nr', 'with.dots.in-it')).metadata.name).toBe('with.dots.in-it');
  });

  it('every output form', async () => {
    const table = await kubectl('get', 'nr', 'made');
    expect(table).toMatch(/^NAME +SCHEDULE +ROUNDS +LAST RESULT +NEXT +AGE\nmade +every 60s +0\/2/);
    expect(await kubectl('get', 'nr', '-o', 'wide')).toMatch(/FINISHED +NODES +PROBLEM/);
    expect(await kubectl('get', 'nr', '-A')).toMatch(/^NAMESPACE +NAME/);
    expect(await kubectl('get', 'nr', 'made', '-o', 'name')).toBe('netreach.roundsman.io/made\n');
    expect(await kubectl('get', 'nr', 'made', '-o', 'jsonpath={.spec.request.qps}')).toBe('5');
    expect(await kubectl('get', 'nr', 'made', '-o', 'custom-columns=N:.metadata.name,Q:.spec.request.qps')).toMatch(/made +5/);
    expect(await kubectl('get', 'nr', 'made', '-o', 'go-template={{.kind}}')).toBe('NetReach');
    expect(parse(await kubectl('get', 'nr', 'made', '-o', 'yaml'))).toMatchObject({ kind: 'NetReach', metadata: { name: 'made' } });
    expect(await kubectl('get', 'nr', '--show-labels')).toMatch(/LABELS/);
    expect(await kubectl('get', 'nr', '--server-print=false')).toMatch(/^NAME +AGE/);
    expect(await kubectl('get', 'nr/made', 'ns/default', '-o', 'name')).toBe('netreach.roundsman.io/made\nnamespace/default\n');
    expect(JSON.parse(await kubectl('get', '--raw', '/apis/roundsman.io/v1/namespaces/default/netreaches/made'))).toMatchObject({ kind: 'NetReach' });
  });

  it('chunks, sorting, selectors', async () => {
    for (let i = 0; i < 7; i++) await apply(configMap(`chunk-${i}`, `{rank: "${9 - i}"}`).replace('namespace: default', `namespace: default, labels: {chunk: "${i % 2 === 0 ? 'even' : 'odd'}"}`));
    const names = (text: string): string[] => text.trim().split('\n').map((line) => line.replace('configmap/', ''));
    const all = Array.from({ length: 7 }, (_, i) => `chunk-${i}`);
    expect(names(await kubectl('get', 'cm', '-o', 'name', '--chunk-size=2', '-l', 'chunk'))).toEqual(all);
    expect(names(await kubectl('get', 'cm', '-o', 'name', '-l', 'chunk=even'))).toEqual(['chunk-0', 'chunk-2', 'chunk-4', 'chunk-6']);
    expect(names(await kubectl('get', 'cm', '-o', 'name', '-l', 'chunk notin (even),chunk'))).toEqual(['chunk-1', 'chunk-3', 'chunk-5']);
    expect(names(await kubectl('get', 'cm', '-o', 'name', '--field-selector', 'metadata.name=chunk-3'))).toEqual(['chunk-3']);
    expect(await kubectl('get', 'cm', '-l', 'chunk', '--sort-by=.data.rank')).toMatch(/\nchunk-6 [^]*\nchunk-0 /);
    const first = await cluster.http('/api/v1/namespaces/default/configmaps?labelSelector=chunk&limit=3');
    const { continue: place, resourceVersion } = first.json['metadata'] as { continue: string; resourceVersion: string };
    await apply(configMap('chunk-9', '{}').replace('namespace: default', 'namespace: default, labels: {chunk: x}'));
    const second = await cluster.http(`/api/v1/namespaces/default/configmaps?labelSelector=chunk&limit=3&continue=${place}`);
    // The same version on every page: a watch from it sees what came in between.
    expect((second.json['metadata'] as { resourceVersion: string }).resourceVersion).toBe(resourceVersion);
    expect((second.json['items'] as Thing[]).map(({ metadata }) => metadata.name)).toEqual(['chunk-3', 'chunk-4', 'chunk-5']);
  });

  it('delete by name, by file, by label, and it waits until they are gone', async () => {
    expect(await kubectl('delete', 'nr', 'made')).toBe('netreach.roundsman.io "made" deleted\n');
    expect(await exists('nr', 'made')).toBe(false);
    await apply(task('by-file'));
    await cluster.must(['delete', '-f', '-'], { input: task('by-file') });
    expect(await exists('nr', 'by-file')).toBe(false);
    await kubectl('delete', 'cm', '-l', 'chunk');
    expect(await kubectl('get', 'cm', '-l', 'chunk')).toBe('');
    const missing = await cluster.kubectl(['delete', 'nr', 'nobody']);
    expect(missing.stderr).toBe('Error from server (NotFound): netreaches.roundsman.io "nobody" not found\n');
    expect(await kubectl('delete', 'nr', 'nobody', '--ignore-not-found')).toBe('');
  });

  it('an object with a finalizer stays until that is gone; a namespace takes its objects with it', async () => {
    await cluster.must(['create', '-f', '-'], { input: 'apiVersion: v1\nkind: Namespace\nmetadata: {name: short-lived}\n' });
    await apply(configMap('held', '{a: "1"}', 'short-lived').replace('namespace: short-lived', 'namespace: short-lived, finalizers: [example.org/hold]'));
    const deleting = cluster.kubectl(['delete', 'cm', '-n', 'short-lived', 'held']);
    await kubectl('wait', 'cm/held', '-n', 'short-lived', '--for=jsonpath={.metadata.deletionTimestamp}', '--timeout=60s');
    await kubectl('patch', 'cm', 'held', '-n', 'short-lived', '--type=json', '-p', '[{"op":"remove","path":"/metadata/finalizers"}]');
    expect((await deleting).code).toBe(0);
    await apply(configMap('other', '{}', 'short-lived'));
    await kubectl('delete', 'ns', 'short-lived');
    expect(await exists('ns', 'short-lived')).toBe(false);
    expect(await exists('cm', '-n', 'short-lived', 'other')).toBe(false);
  });

  it('preconditions and dry runs', async () => {
    await apply(task('kept'));
    const { metadata } = await get('nr', 'kept');
    const path = '/apis/roundsman.io/v1/namespaces/default/netreaches/kept';
    const wrong = await cluster.http(path, { method: 'DELETE', body: JSON.stringify({ preconditions: { uid: 'another' } }), headers: { 'content-type': 'application/json' } });
    expect(wrong).toMatchObject({ status: 409, json: { reason: 'Conflict' } });
    expect(await kubectl('delete', 'nr', 'kept', '--dry-run=server')).toMatch(/deleted \(server dry run\)/);
    expect((await get('nr', 'kept')).metadata.uid).toBe(metadata.uid);
    const collection = await cluster.http('/apis/roundsman.io/v1/namespaces/default/netreaches?labelSelector=no%3Dsuch', { method: 'DELETE' });
    expect(collection).toMatchObject({ status: 200, json: { kind: 'NetReachList', items: [] } });
    expect(await exists('nr', 'kept')).toBe(true);
  });
});

describe('changing', () => {
  it('apply: created, unchanged, configured; a removed member goes', async () => {
    expect(await apply(task('applied'))).toMatch(/created/);
    expect(await apply(task('applied'))).toMatch(/unchanged/);
    const before = await get('nr', 'applied');
    expect(await apply(task('applied', 'schedule: {intervalSeconds: 60}\n  request: {qps: 7}'))).toMatch(/configured/);
    const after = await get('nr', 'applied');
    expect(after.spec.request.qps).toBe(7);
    expect(after.metadata.generation).toBe(before.metadata.generation + 1);
    expect(after.spec).not.toHaveProperty('schedule.roundNumber', 2);
  });

  it('diff shows what would change, and changes nothing', async () => {
    const ran = await cluster.kubectl(['diff', '-f', '-'], { input: task('applied', 'schedule: {intervalSeconds: 60}\n  request: {qps: 8}') });
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/-\s+qps: 7\n\+\s+qps: 8/);
    expect((await get('nr', 'applied')).spec.request.qps).toBe(7);
    expect(await apply(task('fresh'), '--dry-run=server')).toMatch(/created \(server dry run\)/);
    expect(await exists('nr', 'fresh')).toBe(false);
  });

  it('server-side apply: ownership, conflict, force, letting go', async () => {
    expect(await apply(task('owned'), '--server-side')).toMatch(/serverside-applied/);
    const other = task('owned').replace('qps: 5', 'qps: 9');
    const conflict = await cluster.kubectl(['apply', '--server-side', '--field-manager=other', '-f', '-'], { input: other });
    expect(conflict.stderr).toMatch(/conflict with "kubectl": \.spec\.request\.qps/);
    expect((await get('nr', 'owned')).spec.request.qps).toBe(5);
    await apply(other, '--server-side', '--field-manager=other', '--force-conflicts');
    const { metadata, spec } = JSON.parse(await kubectl('get', 'nr', 'owned', '-o', 'json', '--show-managed-fields')) as Thing;
    expect(spec.request.qps).toBe(9);
    expect(metadata.managedFields?.map(({ manager, operation }) => `${manager}/${operation}`).sort()).toEqual(['kubectl/Apply', 'other/Apply']);
    // Whoever no longer sends a field that it owned alone takes it away: the default is back.
    await apply('apiVersion: roundsman.io/v1\nkind: NetReach\nmetadata: {name: owned}\nspec: {schedule: {intervalSeconds: 60}}\n', '--server-side', '--field-manager=other');
    expect((await get('nr', 'owned')).spec.request.qps).toBe(5);
  });

  it('server-side apply of the same again writes nothing', async () => {
    await apply(task('same'), '--server-side');
    const before = await get('nr', 'same');
    await apply(task('same'), '--server-side');
    expect((await get('nr', 'same')).metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it('the three patch types', async () => {
    await apply(task('patched'));
    await kubectl('patch', 'nr', 'patched', '--type=merge', '-p', '{"spec":{"suspend":true},"metadata":{"labels":{"a":"1"}}}');
    await kubectl('patch', 'nr', 'patched', '--type=json', '-p', '[{"op":"test","path":"/spec/suspend","value":true},{"op":"replace","path":"/spec/request/qps","value":8}]');
    expect(await get('nr', 'patched')).toMatchObject({ metadata: { labels: { a: '1' } }, spec: { suspend: true, request: { qps: 8 } } });
    const refused = await cluster.kubectl(['patch', 'nr', 'patched', '-p', '{"spec":{"suspend":false}}']);
    expect(refused.stderr).toMatch(/strategic-merge-patch\+json is not supported by roundsman\.io\/v1, Kind=NetReach/);
    await apply(configMap('patched', '{a: "1"}'));
    await kubectl('patch', 'cm', 'patched', '-p', '{"data":{"b":"2"},"metadata":{"finalizers":["a.b/c"]}}');
    await kubectl('patch', 'cm', 'patched', '-p', '{"data":{"a":null},"metadata":{"$deleteFromPrimitiveList/finalizers":["a.b/c"]}}');
    expect(await get('cm', 'patched')).toMatchObject({ data: { b: '2' } });
    expect((await get('cm', 'patched')).metadata.finalizers ?? []).toEqual([]);
    const test = await cluster.kubectl(['patch', 'nr', 'patched', '--type=json', '-p', '[{"op":"test","path":"/spec/suspend","value":false},{"op":"remove","path":"/spec/request"}]']);
    expect(test.stderr).toMatch(/the test does not hold/);
    expect((await get('nr', 'patched')).spec.request.qps).toBe(8);
  });

  it('label, annotate, edit, replace', async () => {
    await apply(task('edited'));
    await kubectl('label', 'nr', 'edited', 'tier=gold');
    await kubectl('annotate', 'nr', 'edited', 'note=some text');
    expect((await get('nr', 'edited')).metadata).toMatchObject({ labels: { tier: 'gold' }, annotations: { note: 'some text' } });
    await kubectl('label', 'nr', 'edited', 'tier-');
    expect((await get('nr', 'edited')).metadata.labels ?? {}).toEqual({});
    const edit = await cluster.must(['edit', 'nr', 'edited'], { env: { KUBE_EDITOR: 'sed -i s/suspend:.false/suspend:\\ true/' } });
    expect(edit).toMatch(/edited/);
    expect((await get('nr', 'edited')).spec.suspend).toBe(true);
    const stale = await get('nr', 'edited');
    await kubectl('annotate', 'nr', 'edited', 'note=newer', '--overwrite');
    const conflict = await cluster.kubectl(['replace', '-f', '-'], { input: JSON.stringify(stale) });
    expect(conflict.stderr).toMatch(/Conflict.*the object has been modified/s);
    expect((await get('nr', 'edited')).metadata.annotations?.['note']).toBe('newer');
    expect(await cluster.must(['replace', '-f', '-'], { input: task('edited').replace('qps: 5', 'qps: 6') })).toMatch(/replaced/);
    expect((await get('nr', 'edited')).spec.request.qps).toBe(6);
  });

  it('many patches at once lose none', async () => {
    await apply(configMap('counted', '{}'));
    const path = '/api/v1/namespaces/default/configmaps/counted';
    const patches = await Promise.all(Array.from({ length: 20 }, (_, i) => cluster.http(path, { method: 'PATCH', body: JSON.stringify({ data: { [`k${i}`]: 'v' } }), headers: { 'content-type': 'application/merge-patch+json' } })));
    const stored = Object.keys((await get('cm', 'counted')).data ?? {}).length;
    // A patch that was beaten six times says so; one that says it was stored, is.
    expect(stored).toBe(patches.filter(({ status }) => status === 200).length);
    expect(patches.every(({ status }) => status === 200 || status === 409)).toBe(true);
  });

  it('run and cancel are annotations; status has a path of its own', async () => {
    await apply(task('run-it'));
    const base = '/apis/roundsman.io/v1/namespaces/default/netreaches/run-it';
    await kubectl('create', '--raw', `${base}/run`, '-f', '/dev/null');
    const cancel = await cluster.http(`${base}/cancel`, { method: 'POST' });
    expect(cancel.status).toBe(201);
    expect(Object.keys((await get('nr', 'run-it')).metadata.annotations ?? {})).toEqual(expect.arrayContaining(['roundsman.io/run-now', 'roundsman.io/cancel']));
    await kubectl('patch', 'nr', 'run-it', '--subresource=status', '--type=merge', '-p', '{"status":{"doneRound":1,"conditions":[{"type":"Healthy","status":"True","reason":"Test","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]},"spec":{"suspend":true}}');
    expect((await get('nr', 'run-it')).spec.suspend).toBe(false);
    expect(await kubectl('get', 'nr', 'run-it')).toMatch(/1\/2/);
    expect(await kubectl('wait', 'nr/run-it', '--for=condition=Healthy', '--timeout=60s')).toMatch(/condition met/);
  });
});

describe('watching and describing', () => {
  it('get -w shows every change, wait ends when it holds or the object is gone', async () => {
    await apply(task('watched'));
    const shown = await watching(cluster, ['get', 'nr', 'watched', '-w', '--output-watch-events', '--no-headers']);
    const waiting = await watching(cluster, ['wait', 'nr/watched', '--for=jsonpath={.spec.suspend}=true', '--timeout=60s']);
    const gone = await watching(cluster, ['wait', 'nr/watched', '--for=delete', '--timeout=60s']);
    for (const qps of [6, 7]) await kubectl('patch', 'nr', 'watched', '--type=merge', '-p', `{"spec":{"request":{"qps":${qps}},"suspend":${qps === 7}}}`);
    expect([await waiting.ended, waiting.stdout()]).toEqual([0, expect.stringMatching(/condition met/)]);
    await kubectl('delete', 'nr', 'watched', '--wait=false');
    expect([await gone.ended, gone.stdout()]).toEqual([0, expect.stringMatching(/condition met/)]);
    await eventually(() => expect(shown.stdout().trim().split('\n').map((line) => line.split(/\s+/)[0])).toEqual(['ADDED', 'MODIFIED', 'MODIFIED', 'DELETED']));
    await shown.stop();
  });

  it('describe shows the fields and the events, and events are found by what they are about', async () => {
    await apply(task('described'));
    const { metadata } = await get('nr', 'described');
    const involvedObject = { apiVersion: 'roundsman.io/v1', kind: 'NetReach', namespace: 'default', name: 'described', uid: metadata.uid };
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'described.1' }, involvedObject, reason: 'RoundFailed', message: 'node-2 is silent', type: 'Warning', count: 1, firstTimestamp: new Date().toISOString(), lastTimestamp: new Date().toISOString(), source: { component: 'test' } };
    await cluster.must(['create', '-f', '-'], { input: JSON.stringify(event) });
    expect(await kubectl('describe', 'nr', 'described')).toMatch(/Interval Seconds: +60[^]*RoundFailed +\S+.*node-2 is silent/);
    expect(await kubectl('events', '--for', 'netreach.v1.roundsman.io/described')).toMatch(/Warning +RoundFailed/);
    expect(await kubectl('get', 'events', '--field-selector', 'involvedObject.name=described,type!=Normal')).toMatch(/netreach\/described +node-2 is silent/);
    expect(await kubectl('get', 'events', '--field-selector', 'involvedObject.name=nobody')).toBe('');
  });
});

describe('kdoctor manifests', () => {
  it('apply unmodified and are the same tasks', async () => {
    const manifest = 'apiVersion: kdoctor.io/v1beta1\nkind: Netdns\nmetadata:\n  name: old-dns\nspec:\n  schedule: {schedule: "1 1", roundNumber: 2, roundTimeoutMinute: 1}\n  target: {targetUser: {server: 10.0.0.10}}\n';
    expect(await apply(manifest)).toMatch(/netdns\.kdoctor\.io\/old-dns created/);
    expect(await apply(manifest)).toMatch(/unchanged/);
    expect(await kubectl('get', 'netdns.kdoctor.io', 'old-dns')).toMatch(/FINISH +EXPECTEDROUND/);
    expect(await kubectl('get', 'netdns.roundsman.io', 'old-dns', '-o', 'jsonpath={.spec.target.targetUser.server}')).toBe('10.0.0.10');
    await kubectl('patch', 'netdns.kdoctor.io', 'old-dns', '--type=merge', '-p', '{"spec":{"request":{"qps":3}}}');
    expect(await kubectl('get', 'nd', 'old-dns', '-o', 'jsonpath={.spec.request.qps}')).toBe('3');
    await kubectl('delete', 'netdns.kdoctor.io', 'old-dns');
    expect(await exists('nd', 'old-dns')).toBe(false);
  });
});
