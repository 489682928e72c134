import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { KubectlCluster } from './kubectl-cluster.ts';

/** kubectl's generators and its questions about the user: typed clients, which send protobuf. */
let cluster: KubectlCluster;
const binary = Buffer.concat([Buffer.from([0xff, 0xfe, 0x00]), randomBytes(700_000)]);
const text = 'grüße = "1"\n# \u{1f600}\tend\n';
let authority = '';
let certificate = '';
let key = '';

beforeAll(async () => {
  cluster = await KubectlCluster.start();
  // A real pair: kubectl checks that certificate and key fit.
  [authority, certificate, key] = ['ca.crt', 'tls.crt', 'tls.key'].map((name) => join(cluster.folder, 'tls', name)) as [string, string, string];
  cluster.file('settings.properties', text);
  cluster.file('empty', '');
  cluster.file('of.env', 'A=1\nB=two words\n');
  writeFileSync(join(cluster.folder, 'blob.bin'), binary);
}, 120_000);
afterAll(() => cluster?.stop());

const file = (name: string): string => join(cluster.folder, name);

interface Stored {
  metadata: Record<string, unknown>;
  [member: string]: unknown;
}

/** What kubectl says that it would send, without what a server adds. */
const meant = async (args: readonly string[]): Promise<Stored> => parse(await cluster.must([...args, '--dry-run=client', '-o', 'yaml'])) as Stored;

/** Runs `kubectl create …` and proves that the body went as protobuf. */
async function create(args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await cluster.kubectl([...args, '-v=8']);
  expect({ code, stderr: code === 0 ? '' : stderr.slice(-2000) }).toEqual({ code: 0, stderr: '' });
  expect(stderr).toMatch(/POST [^]*Content-Type: application\/vnd\.kubernetes\.protobuf/);
  return stdout;
}

async function stored(resource: string, name: string): Promise<Stored> {
  const object = parse(await cluster.must(['get', resource, name, '-o', 'yaml'])) as Stored;
  const { creationTimestamp, resourceVersion, uid, managedFields: _fields, generation: _generation, namespace: _namespace, labels: _labels, ...metadata } = object.metadata;
  expect([creationTimestamp, resourceVersion, uid]).toEqual([expect.any(String), expect.any(String), expect.any(String)]);
  const { spec: _spec, status: _status, ...rest } = object;
  return { ...rest, metadata };
}

const defaulted = ({ spec: _spec, status: _status, ...object }: Stored): Stored => {
  const { creationTimestamp: _creation, ...metadata } = object.metadata;
  return { ...(object['kind'] === 'Secret' ? { type: 'Opaque' } : {}), ...object, metadata };
};

describe('kubectl create', () => {
  it.each<[string, string, () => string[]]>([
    ['namespace', 'made', () => []],
    ['configmap', 'literals', () => ['--from-literal=a=1', '--from-literal=empty=', '--from-literal=text=x=y z']],
    ['configmap', 'files', () => [`--from-file=${file('settings.properties')}`, `--from-file=other=${file('settings.properties')}`, `--from-file=${file('blob.bin')}`, `--from-file=${file('empty')}`]],
    ['configmap', 'env', () => [`--from-env-file=${file('of.env')}`]],
    ['configmap', 'nothing', () => []],
    ['secret generic', 'certs', () => [`--from-file=ca.crt=${authority}`, `--from-file=tls.crt=${certificate}`, `--from-file=tls.key=${key}`]],
    ['secret generic', 'typed', () => ['--type=example.org/token', '--from-literal=token=s3cret', '--from-literal=empty=', `--from-file=${file('blob.bin')}`]],
    ['secret generic', 'hashed', () => ['--from-literal=a=b', '--append-hash']],
    ['secret tls', 'pair', () => [`--cert=${certificate}`, `--key=${key}`]],
    ['secret docker-registry', 'registry', () => ['--docker-server=registry.example.org', '--docker-username=me', '--docker-password=pw']],
  ])('%s %s: stored as kubectl means it', async (what, name, options) => {
    const args = ['create', ...what.split(' '), name, ...options()];
    const expected = await meant(args);
    expect(await create(args)).toBe(`${what.split(' ')[0] as string}/${expected.metadata['name'] as string} created\n`);
    expect(await stored(what.split(' ')[0] as string, expected.metadata['name'] as string)).toEqual(defaulted(expected));
  });

  it('bytes come back as they went', async () => {
    const { binaryData, data } = await stored('configmap', 'files');
    expect(Buffer.from((binaryData as Record<string, string>)['blob.bin'] as string, 'base64').equals(binary)).toBe(true);
    expect(data).toEqual({ 'settings.properties': text, other: text, empty: '' });
    expect(await cluster.must(['get', 'configmap', 'files', '-o', 'yaml', '--show-managed-fields'])).toMatch(/manager: kubectl-create\n +operation: Update/);
  });

  it('a dry run at the server says what would be stored, and stores nothing', async () => {
    for (const args of [['namespace', 'dry'], ['configmap', 'dry', '--from-literal=a=b'], ['secret', 'generic', 'dry', '--from-literal=a=b']]) {
      expect(await create(['create', ...args, '--dry-run=server'])).toBe(`${args[0] as string}/dry created (server dry run)\n`);
      expect((await cluster.kubectl(['get', args[0] as string, 'dry'])).stderr).toMatch(/NotFound/);
    }
  });

  it('refusals are the same as for JSON', async () => {
    for (const args of [['namespace', 'made'], ['configmap', 'literals'], ['secret', 'generic', 'certs']]) {
      const { code, stderr } = await cluster.kubectl(['create', ...args]);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^(Error from server|error: failed to create \w+).*already exists\n$/s)]);
    }
    const elsewhere = await cluster.kubectl(['create', 'configmap', 'x', '-n', 'nowhere']);
    expect(elsewhere.stderr).toMatch(/namespaces "nowhere" not found/);
    const name = await cluster.kubectl(['create', 'namespace', 'Not_A_Name']);
    expect(name.stderr).toMatch(/metadata\.name: Invalid value: "Not_A_Name"/);
  });

  it('text that grows beyond every limit once it is JSON is refused as too large', async () => {
    cluster.file('control', '\u0001'.repeat(900_000));
    const { code, stderr } = await cluster.kubectl(['create', 'configmap', 'control', `--from-file=${file('control')}`]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/the body is larger than 3145728 bytes once it is JSON/)]);
  });
});

describe('used by a task', () => {
  it('body and TLS material made this way are found, so that it is admitted without a warning', async () => {
    await create(['create', 'configmap', 'order', '--from-literal=item=tea']);
    const task = (spec: string, name = 'shop'): string => `apiVersion: roundsman.io/v1\nkind: AppHttpHealthy\nmetadata: {name: ${name}}\nspec:\n  target: {host: "https://echo.roundsman-system.svc/", method: POST, ${spec}}\n`;
    for (const [secret, dryRun] of [['pair', ['--dry-run=server']], ['certs', []]] as const) {
      const ran = await cluster.kubectl(['create', ...dryRun, '-f', '-'], { input: task(`bodyConfigmapName: order, tlsSecretName: ${secret}`) });
      expect(ran).toMatchObject({ code: 0, stderr: '' });
    }
    const warned = await cluster.kubectl(['create', '--dry-run=server', '-f', '-'], { input: task('bodyConfigmapName: nobody', 'other') });
    expect(warned).toMatchObject({ code: 0, stderr: expect.stringMatching(/Warning: .*nobody/) as unknown as string });
    const wrong = await cluster.kubectl(['create', '-f', '-'], { input: task('tlsSecretName: typed', 'other') });
    expect(wrong.stderr).toMatch(/tlsSecretName.*the secret has none of the keys/);
  });
});

describe('questions about the user', () => {
  it('are read: the answer repeats them', async () => {
    const ask = async (...question: string[]): Promise<string> => {
      const { stdout, stderr } = await cluster.kubectl(['auth', 'can-i', ...question, '-v=8']);
      expect([stdout, stderr]).toEqual(['yes\n', expect.stringMatching(/Content-Type: application\/vnd\.kubernetes\.protobuf/)]);
      return stderr.replaceAll('\\"', '"');
    };
    expect(await ask('delete', 'secrets/certs')).toContain('"spec":{"resourceAttributes":{"namespace":"default","verb":"delete","resource":"secrets","name":"certs"}}');
    expect(await ask('get', '/metrics')).toContain('"spec":{"nonResourceAttributes":{"path":"/metrics","verb":"get"}}');
    expect(await cluster.must(['auth', 'can-i', '--list', '-n', 'made'])).toMatch(/\*\.\*/);
    expect(await cluster.must(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe('roundsman:admin');
  });
});

/** A length-delimited field. */
const field = (id: number, content: string | Buffer): Buffer => Buffer.concat([Buffer.from([(id << 3) | 2, Buffer.byteLength(content)]), Buffer.from(content)]);
const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer => Buffer.concat([Buffer.from('k8s\0'), field(1, Buffer.concat([field(1, apiVersion), field(2, kind)])), field(2, raw)]);
const protobuf = { 'content-type': 'application/vnd.kubernetes.protobuf' };

describe('other requests in protobuf', () => {
  const remove = (name: string, options: Buffer): ReturnType<KubectlCluster['http']> => cluster.http(`/api/v1/namespaces/default/configmaps/${name}`, { method: 'DELETE', body: envelope('v1', 'DeleteOptions', options), headers: protobuf });

  it('delete options: preconditions, dry run and propagation', async () => {
    await create(['create', 'configmap', 'doomed']);
    expect(await remove('doomed', field(2, field(1, 'another')))).toMatchObject({ status: 409, json: { reason: 'Conflict' } });
    expect(await remove('doomed', field(4, 'Sometimes'))).toMatchObject({ status: 400, json: { message: expect.stringMatching(/propagationPolicy/) } });
    expect(await remove('doomed', field(5, 'All'))).toMatchObject({ status: 200 });
    await cluster.must(['get', 'configmap', 'doomed']);
    expect(await remove('doomed', Buffer.concat([Buffer.from([0x08, 0x00]), field(4, 'Background')]))).toMatchObject({ status: 200, json: { status: 'Success' } });
    expect((await cluster.kubectl(['get', 'configmap', 'doomed'])).stderr).toMatch(/NotFound/);
  });

  it('an update, as a Go client does it: read, change, put', async () => {
    const { uid } = JSON.parse(await cluster.must(['get', 'configmap', 'order', '-o', 'jsonpath={.metadata}'])) as { uid: string };
    const put = await cluster.http('/api/v1/namespaces/default/configmaps/order', { method: 'PUT', body: envelope('v1', 'ConfigMap', Buffer.concat([field(1, Buffer.concat([field(1, 'order'), field(5, uid)])), field(2, Buffer.concat([field(1, 'item'), field(2, 'milk')])), field(6, 'x')])), headers: protobuf });
    expect(put).toMatchObject({ status: 200, json: { data: { item: 'milk' } } });
    expect(put.headers.get('warning')).toBe('299 - "unknown protobuf field 6 of ConfigMap was dropped"');
  });

  it.each<[string, Buffer, number, RegExp]>([
    ['no protobuf', Buffer.from('{"kind":"ConfigMap"}'), 400, /"k8s"/],
    ['half a message', envelope('v1', 'ConfigMap', Buffer.from([0x0a, 0x7f])), 400, /the ConfigMap cannot be read/],
    ['another kind than the path', envelope('v1', 'Secret', Buffer.alloc(0)), 400, /Secret.*ConfigMap/],
    ['a kind whose messages are not known', envelope('v1', 'ResourceQuota', Buffer.alloc(0)), 415, /"v1 ResourceQuota" are not read here.*kubectl create -f -/],
  ])('%s is refused with a Status', async (_what, body, status, message) => {
    const answer = await cluster.http('/api/v1/namespaces/default/configmaps', { method: 'POST', body, headers: protobuf });
    expect(answer).toMatchObject({ status, json: { kind: 'Status', status: 'Failure', code: status } });
    expect(answer.json['message']).toMatch(message);
  });
});
