import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubectlCluster } from './kubectl-cluster.ts';

/** What those who run a cluster try first. */
let cluster: KubectlCluster;
beforeAll(async () => {
  cluster = await KubectlCluster.start();
}, 120_000);
afterAll(() => cluster?.stop());

const pod = (name: string): string => JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec: { containers: [{ name: 'main', image: 'any' }] } });

it('debug says that there are no ephemeral containers', async () => {
  await cluster.must(['create', '-f', '-'], { input: pod('looked-into') });
  const { code, stderr } = await cluster.kubectl(['debug', 'looked-into', '--image=busybox', '--', 'ls']);
  expect(stderr).toMatch(/^error: ephemeral containers are disabled for this cluster \(error from server: "the server could not find the requested resource/m);
  expect(code).toBe(1);
});

it('the version tells what runs, in the words of Go', async () => {
  const { serverVersion } = JSON.parse(await cluster.must(['version', '-o', 'json'])) as { serverVersion: Record<string, string> };
  expect(serverVersion).toMatchObject({ major: '1', minor: '32', goVersion: `node ${process.version}`, buildDate: expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) });
  expect(serverVersion['platform']).toMatch(/^linux\/(amd64|arm64)$/);
  expect(Object.values(serverVersion)).not.toContain('');
});

describe('--as', () => {
  it('makes requests in the name of another', async () => {
    const as = ['--as=ada', '--as-group=dev', '--as-group=ops', '--as-uid=42'];
    const who = JSON.parse(await cluster.must(['auth', 'whoami', '-o', 'json', ...as])) as { status: unknown };
    expect(who.status).toEqual({ userInfo: { username: 'ada', uid: '42', groups: ['dev', 'ops', 'system:authenticated'] } });
    expect(await cluster.must(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe('roundsman:admin');
  });

  it('is refused for the names of services', async () => {
    for (const name of ['system:roundsman:controllers', 'system:node:node-1']) {
      const { code, stderr } = await cluster.kubectl(['create', 'configmap', 'forged', '--from-literal=a=b', `--as=${name}`]);
      expect(stderr).toContain(`users "${name}" is forbidden: User "roundsman:admin" cannot impersonate resource "users"`);
      expect(code).toBe(1);
    }
    expect((await cluster.kubectl(['get', 'configmap', 'forged'])).stderr).toContain('NotFound');
  });
});

it('the priority classes of the system stay', async () => {
  const { code, stderr } = await cluster.kubectl(['delete', 'priorityclass', 'system-node-critical']);
  expect(stderr).toContain('priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted');
  expect(code).toBe(1);
  await cluster.must(['create', 'priorityclass', 'mine', '--value=5']);
  await cluster.must(['delete', 'priorityclass', 'mine']);
});

describe('a patch of what no kind has', () => {
  it.each([
    ['configmap', ['create', 'configmap', 'patched', '--from-literal=a=b'], '{"bogus":1}'],
    ['deployment', ['create', 'deployment', 'patched', '--image=any'], '{"spec":{"template":{"spec":{"bogus":1}},"also":{"not":"there"}}}'],
    ['namespace', ['create', 'namespace', 'patched'], '{"bogus":{"a":"b"}}'],
  ])('changes nothing of a %s', async (kind, create, patch) => {
    await cluster.must(create);
    const read = (): Promise<string> => cluster.must(['get', kind, 'patched', '-o', 'json', '--show-managed-fields']);
    const before = await read();
    for (const type of ['merge', 'strategic']) expect(await cluster.must(['patch', kind, 'patched', '--type', type, '-p', patch])).toContain('patched (no change)');
    expect(await read()).toBe(before);
    const { stderr } = await cluster.kubectl(['patch', kind, 'patched', '--type=merge', '-p', patch]);
    expect(stderr).toMatch(/Warning: unknown field "/);
    // Beside what is known it is dropped: nobody owns it.
    await cluster.must(['patch', kind, 'patched', '--type=merge', '-p', JSON.stringify({ ...(JSON.parse(patch) as object), metadata: { labels: { x: 'y' } } })]);
    const after = await read();
    expect(after).toContain('"f:x"');
    expect(after).not.toMatch(/bogus|not/);
  });
});

describe('large bodies', () => {
  const configMap = (bytes: number): string => JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large', namespace: 'default' }, data: { a: 'x'.repeat(bytes) } });

  it('are taken up to what a ConfigMap may hold, and refused by its own rule above', async () => {
    await cluster.must(['create', '-f', '-'], { input: configMap(1 << 20) });
    await cluster.must(['delete', 'configmap', 'large']);
    for (const bytes of [(1 << 20) + 1, 3_000_000]) {
      const { code, stderr } = await cluster.kubectl(['create', '-f', '-'], { input: configMap(bytes) });
      expect(stderr).toContain('The ConfigMap "large" is invalid: data: Too long: may not be more than 1048576 bytes');
      expect(code).toBe(1);
    }
  });

  it('are refused whole above three MiB, and where their object would not fit a message', async () => {
    const post = (body: string) => cluster.http('/api/v1/namespaces/default/configmaps', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    expect(await post(configMap(3 << 20))).toMatchObject({ status: 413, json: { reason: 'RequestEntityTooLarge', message: expect.stringContaining('larger than 3145728 bytes') } });
    // What is said of its fields makes it much longer.
    const keys = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`key-${index}`, '']));
    expect(await post(JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'large' }, data: keys }))).toMatchObject({ status: 413, json: { reason: 'RequestEntityTooLarge' } });
    const annotated = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'large' }, spec: { containers: [{ name: 'c', image: 'i', args: ['x'.repeat(2_000_000)] }] } };
    expect(await cluster.http('/api/v1/namespaces/default/pods', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(annotated) })).toMatchObject({ status: 413, json: { message: expect.stringMatching(/the object has \d+ bytes; the limit is 1500000/) } });
  });
});
