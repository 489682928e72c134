import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KubectlCluster } from './kubectl-cluster.ts';

/** Kept between runs, like the product's other downloaded tools. */
const cache = join(process.env['ROUNDSMAN_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'roundsman'), 'schemathesis-4.32.5');
const program = join(cache, 'bin', 'schemathesis');
/**
 * What a schema allows may still break a rule that it cannot say (422), or be about an object that is not there. Whether nonsense
 * beside what a write takes (a spec sent to /status, say) is refused depends on how far the budget reaches, so the gate leaves it out
 * and a long run by hand looks for it: ROUNDSMAN_FUZZ_STRICT=1 ROUNDSMAN_FUZZ_SECONDS=600.
 */
const leftOut = ['positive_data_acceptance', ...(process.env['ROUNDSMAN_FUZZ_STRICT'] === '1' ? [] : ['negative_data_rejection'])];
/** Seconds of fuzzing over all documents together. */
const budgetSeconds = Number(process.env['ROUNDSMAN_FUZZ_SECONDS'] ?? 60);

/** Found without a network when it was installed before. */
function install(): void {
  if (existsSync(join(cache, 'ready'))) return;
  mkdirSync(cache, { recursive: true });
  execFileSync('python3', ['-m', 'venv', cache], { stdio: 'pipe' });
  execFileSync(join(cache, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', 'schemathesis==4.32.5'], { stdio: 'pipe' });
  writeFileSync(join(cache, 'ready'), '');
}

interface Report {
  readonly operations: { readonly total: number; readonly tested: number };
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly { readonly type: string; readonly title: string; readonly operations: readonly string[] }[];
}

const documents = [
  'api/v1', 'apis/apps/v1', 'apis/batch/v1', 'apis/coordination.k8s.io/v1', 'apis/metrics.k8s.io/v1beta1', 'apis/policy/v1', 'apis/scheduling.k8s.io/v1',
  'apis/roundsman.io/v1', 'apis/kdoctor.io/v1beta1', 'apis/system.kdoctor.io/v1beta1', 'apis/authorization.k8s.io/v1', 'apis/authentication.k8s.io/v1',
  'apis/autoscaling/v1', 'apis/autoscaling/v2', 'apis/discovery.k8s.io/v1', 'apis/networking.k8s.io/v1', 'apis/storage.k8s.io/v1',
];
/** One object of each kind that a person may write, so that more than 404s is met. */
const objects = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'fuzz' } },
  { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'fuzz' } },
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'fuzz' }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'fuzz' }, spec: { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } } } },
  { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'fuzz' }, spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } } },
  { apiVersion: 'v1', kind: 'Service', metadata: { name: 'fuzz' }, spec: { ports: [{ port: 80 }] } },
  { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'fuzz' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } } },
  { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name: 'fuzz' }, spec: { defaultBackend: { service: { name: 'fuzz', port: { number: 80 } } } } },
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler', metadata: { name: 'fuzz' }, spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'fuzz' } } },
  { apiVersion: 'roundsman.io/v1', kind: 'DNS', metadata: { name: 'fuzz' }, spec: { host: 'fuzz.example', paths: [{ path: '/', service: { name: 'fuzz', port: 80 } }] } },
  { apiVersion: 'roundsman.io/v1', kind: 'NetReach', metadata: { name: 'fuzz' }, spec: {} },
  { apiVersion: 'roundsman.io/v1', kind: 'AppHttpHealthy', metadata: { name: 'fuzz' }, spec: { target: { host: 'http://127.0.0.1:1' } } },
  { apiVersion: 'roundsman.io/v1', kind: 'NetDNS', metadata: { name: 'fuzz' }, spec: { target: { targetUser: { server: '127.0.0.1' } } } },
];

describe('OpenAPI documents', () => {
  let cluster: KubectlCluster;
  beforeAll(async () => {
    install();
    cluster = await KubectlCluster.start();
    for (const object of objects) await cluster.must(['create', '-f', '-'], { input: JSON.stringify(object) });
    writeFileSync(join(cluster.folder, 'schemathesis.toml'), '[parameters]\n"path.namespace" = "default"\n"path.name" = "fuzz"\n');
  }, 600_000);
  afterAll(() => cluster?.stop());

  /** What schemathesis found in so many seconds, and printed. */
  const fuzzed = async (file: string, seconds: number): Promise<[Report, string]> => {
    const report = join(cluster.folder, 'report.json');
    rmSync(report, { force: true });
    const args = ['run', file, '--url', cluster.url, '--header', `Authorization: Bearer ${cluster.token}`, '--phases', 'examples,coverage,fuzzing', '--max-examples', '10', '--max-time', String(seconds), '--seed', '1', '--workers', '1'];
    const { output } = await run([...args, '--continue-on-failure', '--no-shrink', '--exclude-checks', leftOut.join(','), '--report-json-path', report], cluster.folder, (seconds + 300) * 1000);
    if (!existsSync(report)) throw new Error(`schemathesis left no report:\n${output}`);
    return [JSON.parse(readFileSync(report, 'utf8')) as Report, output];
  };

  it('lists every document, with a hash', async () => {
    const { json } = await cluster.http('/openapi/v3');
    expect(Object.keys(json['paths'] as object).sort()).toEqual([...documents].sort());
  });

  it.each(documents)('%s: generated requests find no 5xx and no undocumented answer', async (path) => {
    const { text } = await cluster.http(`/openapi/v3/${path}`);
    const file = cluster.file(`${path.replaceAll('/', '_')}.json`, text);
    // Fuzzing goes on until the time is spent; a slow machine needs more of it to come to every operation.
    let seconds = Math.ceil((budgetSeconds * text.length) / 500_000) + 8;
    let [found, output] = await fuzzed(file, seconds);
    while (found.failures.length === 0 && found.operations.tested < found.operations.total && seconds < 600) [found, output] = await fuzzed(file, (seconds *= 4));
    if (found.failures.length > 0) throw new Error(output);
    expect(found.operations.tested).toBe(found.operations.total);
    expect(found.test_cases.generated).toBeGreaterThan(found.operations.total);
  }, 1_500_000);

  it('and the gateway is as well as before', async () => {
    expect((await cluster.http('/readyz')).json).toMatchObject({ ready: true });
    expect(await cluster.must(['get', 'netreaches', '-o', 'name'])).toMatch(/^(netreach.*\n)*$/);
  });
});

/** The exit code is not asked for: a budget that ends counts as an error there. */
function run(args: readonly string[], cwd: string, timeoutMs: number): Promise<{ output: string }> {
  return new Promise((resolve) => {
    execFile(program, [...args], { cwd, timeout: timeoutMs, maxBuffer: 64 << 20, env: { ...process.env, NO_COLOR: '1' } }, (_error, stdout, stderr) => resolve({ output: `${stdout}\n${stderr}` }));
  });
}
