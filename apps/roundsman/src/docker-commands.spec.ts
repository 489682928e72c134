import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { imageBuildLabel, pauseImage } from '@roundsman/containers';
import { busyboxImages, startDocker, testImages, whenDocker, type TestDocker } from '@roundsman/testkit';
import { dockerCommands } from './docker-commands.ts';
import { onPath } from './tools.ts';

const run = promisify(execFile);

it('a socket is named as a shell takes it', () => {
  expect(dockerCommands('/run/a.sock').endPods('c')).toBe('docker -H unix:///run/a.sock rm -f $(docker -H unix:///run/a.sock ps -aq --filter label=roundsman.io/cluster=c)');
  expect(dockerCommands("/it's here").removeImages).toMatch(/^docker -H unix:\/\/'\/it'\\''s here' image rm /);
});

// Debian 13 has the command in a package of its own, which a daemon does not need.
const withCommand = onPath('docker') === undefined ? (name: string, body: () => void): void => describe.skip(`${name} [skipped: docker not found: apt-get install docker-cli]`, body) : whenDocker(describe);

withCommand('what people are told to run', () => {
  let docker: TestDocker;
  // Whichever daemon their own `docker` speaks to.
  const shell = (command: string) => run('/bin/sh', ['-c', command], { env: { ...process.env, DOCKER_HOST: 'unix:///nowhere' } });
  const names = async (): Promise<string[]> => ((await docker.request('GET', '/images/json')) as { RepoTags: string[] }[]).flatMap(({ RepoTags }) => RepoTags).sort();
  const [base] = busyboxImages;
  const create = async (labels: Record<string, string>): Promise<string> => ((await docker.request('POST', '/containers/create', { Image: base!.reference, Cmd: ['true'], Labels: labels })) as { Id: string }).Id;
  beforeAll(async () => {
    docker = await startDocker();
    await testImages(docker);
  }, 120_000);
  afterAll(() => docker?.stop());

  it('ends the containers of a cluster, and no others', async () => {
    await create({ 'roundsman.io/cluster': 'mine' });
    const other = await create({ 'roundsman.io/cluster': 'other' });
    await shell(dockerCommands(docker.socket).endPods('mine'));
    expect(((await docker.request('GET', '/containers/json?all=1')) as { Id: string }[]).map(({ Id }) => Id)).toEqual([other]);
    await docker.request('DELETE', `/containers/${other}`);
  });

  it('removes the images of this product, one that has two names too, and no others', async () => {
    const before = await names();
    const container = await create({});
    await docker.request('POST', `/commit?container=${container}&repo=roundsman/probe-runner&tag=1&changes=${encodeURIComponent(`LABEL ${imageBuildLabel}=roundsman/probe-runner`)}`, {});
    await docker.request('POST', '/images/roundsman/probe-runner:1/tag?repo=roundsman/probe-runner&tag=2');
    const [repo, tag] = pauseImage.split(':');
    await docker.request('POST', `/images/${base!.reference}/tag?repo=${repo}&tag=${tag}`);
    await docker.request('DELETE', `/containers/${container}`);
    expect(await names()).toEqual([...before, 'roundsman/probe-runner:1', 'roundsman/probe-runner:2', pauseImage].sort());
    await shell(dockerCommands(docker.socket).removeImages);
    expect(await names()).toEqual(before);
  });
});
