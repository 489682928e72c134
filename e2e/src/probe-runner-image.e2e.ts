import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DockerPodRuntime } from '@roundsman/containers';
import { eventually, startDocker, whenDocker, type TestDocker } from '@roundsman/testkit';

const run = promisify(execFile);
const builder = join(import.meta.dirname, '../../deploy/images/build.mjs');
interface Made {
  readonly image: string;
  readonly tags: readonly string[];
  readonly archive: string;
  readonly bytes: number;
  readonly made: boolean;
}
const folder = mkdtempSync(join(tmpdir(), 'roundsman-image-'));
const make = async (...more: string[]): Promise<Made> => JSON.parse((await run(process.execPath, [builder, folder, '--json', ...more])).stdout) as Made;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the image of the probe-runner', () => {
  it('is made by one command, small, and the same from the same sources', async () => {
    const { image, tags, archive, bytes } = await make();
    expect(bytes).toBeLessThan(150e6);
    expect(tags).toEqual([image, image.replace(/-[0-9a-f]{12}$/, '')]);
    const content = (): string => createHash('sha256').update(readFileSync(archive)).digest('hex');
    const first = content();
    expect(await make('--if-needed')).toMatchObject({ image, archive, made: false });
    expect(await make()).toMatchObject({ image, archive, made: true });
    expect([content() === first, readdirSync(folder).sort()]).toEqual([true, [basename(archive), 'probe-runner.json']]);
  });

  it('is not put together again to see that nothing has changed; what has changed is seen', async () => {
    const { image } = await make('--if-needed');
    const record = join(folder, 'probe-runner.json');
    const known = JSON.parse(readFileSync(record, 'utf8')) as { image: string; sources: Record<string, string> };
    const [source = ''] = Object.keys(known.sources).filter((path) => path.includes('/libs/'));
    const remembered = async (change: object): Promise<string> => {
      writeFileSync(record, JSON.stringify({ ...known, image: 'as-remembered', ...change }));
      return (await make('--if-needed')).image;
    };
    expect(await remembered({})).toBe('as-remembered');
    for (const change of [{ sources: { ...known.sources, [source]: '1 1' } }, { by: 'another Node' }]) expect(await remembered(change)).toBe(image);
  });
});

whenDocker(describe)('the image of the probe-runner, loaded', () => {
  let docker: TestDocker;
  let made: Made;
  beforeAll(async () => {
    [docker, made] = await Promise.all([startDocker(), make('--if-needed')]);
    await docker.request('POST', '/images/load?quiet=1', readFileSync(made.archive));
  });
  afterAll(() => docker?.stop());

  const start = async (config: object): Promise<string> => {
    const { Id } = (await docker.request('POST', '/containers/create', { Image: made.image, ...config })) as { Id: string };
    await docker.request('POST', `/containers/${Id}/start`);
    return Id;
  };

  it('answers as the echo target, as a user without rights on a file system that is read-only', async () => {
    const id = await start({ Cmd: ['/app/dist/echo-main.js'], HostConfig: { ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], Tmpfs: { '/tmp': 'rw' } } });
    const { State, NetworkSettings, Config } = (await docker.request('GET', `/containers/${id}/json`)) as { State: { Pid: number }; NetworkSettings: { IPAddress: string }; Config: { User: string } };
    const echo = await eventually(async () => {
      const response = await fetch(`http://${NetworkSettings.IPAddress}:8080/some/path`, { signal: AbortSignal.timeout(2_000) });
      return response.status === 200 && (await response.text());
    }, { within: 30_000 });
    expect(echo).toContain('/some/path');
    expect([Config.User, /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${State.Pid}/status`, 'utf8'))?.[1]]).toEqual(['65532:65532', '65532']);
    await docker.request('DELETE', `/containers/${id}?force=1`);
  });

  it('is a runner that says what it lacks', async () => {
    const id = await start({ HostConfig: { ReadonlyRootfs: true } });
    const { StatusCode } = (await docker.request('POST', `/containers/${id}/wait`)) as { StatusCode: number };
    expect(StatusCode).toBe(1);
    expect(String(await docker.request('GET', `/containers/${id}/logs?stderr=1`).catch((error: unknown) => error))).toContain('ROUNDSMAN_RUNNER_NAME');
  });

  it('takes the place of builds that no container has, and of nothing else', async () => {
    const container = await start({ Cmd: ['/app/dist/echo-main.js'] });
    const repository = 'roundsman/probe-runner';
    for (const [repo, tag] of [[repository, 'old'], [repository, 'used'], ['elsewhere/probe-runner', 'old']]) await docker.request('POST', `/commit?container=${container}&repo=${repo}&tag=${tag}`);
    const { Id } = (await docker.request('POST', '/containers/create', { Image: `${repository}:used` })) as { Id: string };
    const runtime = new DockerPodRuntime({ cluster: 'builds', node: 'one', socketPath: docker.socket });
    expect(await runtime.removeOldBuilds(made.tags)).toEqual([`${repository}:old`]);
    const left = ((await docker.request('GET', '/images/json')) as { RepoTags?: string[] }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
    expect(left).toEqual(expect.arrayContaining([...made.tags, `${repository}:used`, 'elsewhere/probe-runner:old']));
    await runtime.close();
    for (const id of [container, Id]) await docker.request('DELETE', `/containers/${id}?force=1`);
  });

  it('is taken by containerd, too', async () => {
    const socket = join(dirname(docker.socket), 'exec', 'containerd', 'containerd.sock');
    const ctr = (...args: string[]): Promise<{ stdout: string }> => run('ctr', ['-a', socket, '-n', 'roundsman', ...args]);
    await ctr('images', 'import', made.archive);
    const names = (await ctr('images', 'list', '-q')).stdout.trim().split('\n');
    expect(names.sort()).toEqual(made.tags.map((tag) => `docker.io/${tag}`).sort());
  });
});
