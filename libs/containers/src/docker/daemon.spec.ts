import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, whenDocker } from '@roundsman/testkit';
import type { RuntimeEvent } from '../pod-runtime.ts';
import { socketPathOf } from './daemon.ts';
import { DockerPodRuntime } from './docker-pod-runtime.ts';
import { PodLab } from './testing/pod-lab.ts';
import { containerOf, forEver, sandboxOf } from './testing/pods.ts';

describe('without a daemon', () => {
  it('the runtime says what is missing and how to get it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'roundsman-no-docker-'));
    const socketPath = join(folder, 'docker.sock');
    const runtime = new DockerPodRuntime({ cluster: 'home', node: 'node-1', socketPath });
    expect(runtime.version).toBe('docker://unknown');
    expect(await runtime.problem()).toBe(`no Docker daemon at ${socketPath}: install Docker (Debian: apt-get install docker.io) and start it, or set DOCKER_HOST`);
    await expect(runtime.pods()).rejects.toMatchObject({ code: 'Unavailable' });
    await expect(runtime.startSandbox(sandboxOf())).rejects.toMatchObject({ code: 'Unavailable' });
    await runtime.close();
    rmSync(folder, { recursive: true });
  });

  it('DOCKER_HOST names a socket of this machine', () => {
    expect(socketPathOf(undefined)).toBe('/var/run/docker.sock');
    expect(socketPathOf('unix:///run/user/1000/docker.sock')).toBe('/run/user/1000/docker.sock');
    expect(() => socketPathOf('tcp://build:2375')).toThrow('DOCKER_HOST is tcp://build:2375: pods need the Docker of this machine');
  });
});

whenDocker(describe)('the daemon of a runtime', () => {
  let lab: PodLab;
  beforeAll(async () => {
    lab = await PodLab.start({ liveRestore: true });
  });
  afterAll(() => lab?.stop());

  const recorded = (runtime: DockerPodRuntime): RuntimeEvent[] => {
    const events: RuntimeEvent[] = [];
    runtime.watch((event) => events.push(event));
    return events;
  };
  const kinds = (events: readonly RuntimeEvent[]): string[] => events.map(({ container, type }) => `${container ?? 'sandbox'} ${type}`);

  it('tells what happens, to its own containers only, and nothing of commands run in them', async () => {
    const other = lab.runtimeOf('node-2');
    const [mine, others] = [recorded(lab.runtime), recorded(other)];
    // A stream stands once it has told of a pod that came and went; what was before it is no news.
    for (const [runtime, events] of [[lab.runtime, mine], [other, others]] as const) {
      await eventually(async () => {
        const canary = sandboxOf({ podName: 'canary' });
        await runtime.startSandbox(canary);
        await runtime.removePod(canary.podUid);
        return events.some(({ podUid, type }) => podUid === canary.podUid && type === 'removed');
      }, { within: 60_000, every: 200 });
    }
    const { spec, container } = await lab.run(forEver);
    const session = await lab.runtime.exec(container.id, { command: ['true'], stdin: false, tty: false }, new AbortController().signal);
    session.stdout.resume();
    await session.exitCode;
    await lab.docker.request('POST', `/containers/${container.id}/kill`);
    const ofPod = (events: readonly RuntimeEvent[]): RuntimeEvent[] => events.filter(({ podUid }) => podUid === spec.podUid);
    await eventually(() => expect(kinds(ofPod(mine))).toEqual(['sandbox started', 'main started', 'main ended']));
    expect(ofPod(mine)[2]).toEqual({ podUid: spec.podUid, container: 'main', id: container.id, type: 'ended' });
    await lab.runtime.removePod(spec.podUid);
    await eventually(() => expect(kinds(ofPod(mine)).slice(3).sort()).toEqual(['main removed', 'sandbox ended', 'sandbox removed']));
    expect(ofPod(others)).toEqual([]);
    await other.close();
  });

  it('may go away and come back: that is said, containers live on, and what ended meanwhile is told', async () => {
    const { spec, sandbox, container: killed } = await lab.run(forEver);
    const lives = await lab.runtime.startContainer(containerOf(spec, sandbox.id, forEver, { name: 'lives' }));
    expect(await lab.runtime.problem()).toBeUndefined();
    expect(lab.runtime.version).toMatch(/^docker:\/\/\d+\./);
    const events = recorded(lab.runtime);
    await lab.docker.kill('SIGKILL');
    // Connections that were kept to it break first.
    await eventually(async () => expect(await lab.runtime.problem()).toBe(`the Docker daemon at ${lab.docker.socket} is not running: start it`));
    await expect(lab.runtime.inspect(killed.id)).rejects.toMatchObject({ code: 'Unavailable' });
    process.kill(killed.pid ?? 0, 'SIGKILL');
    await lab.docker.restart();
    expect(await lab.runtime.problem()).toBeUndefined();
    await eventually(() => expect(kinds(events)).toContain('main ended'), { within: 60_000 });
    const [pod] = await lab.runtime.pods();
    expect(pod?.sandbox).toMatchObject({ id: sandbox.id, running: true, addresses: sandbox.addresses });
    expect(pod?.containers).toEqual([expect.objectContaining({ name: 'lives', state: 'running', pid: lives.pid }), expect.objectContaining({ name: 'main', state: 'exited' })]);
    await lab.runtime.removePod(spec.podUid);
  });

  it('that hangs is said to hang', async () => {
    lab.docker.pause();
    try {
      expect(await lab.runtime.problem()).toBe(`the Docker daemon at ${lab.docker.socket} does not answer`);
    } finally {
      lab.docker.resume();
    }
    await eventually(async () => expect(await lab.runtime.problem()).toBeUndefined());
  });
});
