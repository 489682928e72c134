import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { PodSpecInput } from '@roundsman/api';
import { eventually, whenDocker } from '@roundsman/testkit';
import { NodeRig } from '../testing/node-rig.ts';
import { mountsBelow } from '../volumes/mounts.ts';

const image = 'busybox:1.35';
const within = { within: 40_000 };
const sh = (script: string): PodSpecInput['containers'][number] => ({ name: 'main', image, command: ['sh', '-c', script] });
const forever = 'trap "exit 0" TERM; sleep 1000 & wait';

whenDocker(describe)('pods while their agent is away', () => {
  let rig: NodeRig;
  beforeAll(async () => {
    rig = await NodeRig.start({ liveRestore: true });
  });
  beforeEach(() => rig.up());
  afterEach(async () => {
    for (const name of rig.intake.names) rig.intake.delete(name, 1);
    await eventually(() => expect(rig.intake.names).toEqual([]), within);
    await rig.down();
  });
  afterAll(() => rig.stop());

  const phase = (name: string, wanted: string) => eventually(() => expect(rig.intake.status(name).phase).toBe(wanted), within);
  const containers = async () => (await rig.docker.request('GET', '/containers/json?all=1')) as { Id: string; State: string }[];

  it('go on; the next agent adopts them and starts nothing again that is well', async () => {
    rig.intake.create('web', { containers: [{ ...sh(forever), readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 20 } }] });
    await phase('web', 'Running');
    await eventually(() => expect(rig.container('web', 'main')?.ready).toBe(true), within);
    const before = rig.intake.status('web');
    const there = (await containers()).map(({ Id }) => Id).sort();
    await rig.down();
    const writes = rig.intake.statuses.length;
    await rig.up();
    await eventually(() => expect([...rig.host.manager.workers.values()].flatMap((worker) => [...worker.runs.keys()])).toEqual(['main']));
    rig.intake.change('web', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } }));
    await eventually(() => expect(rig.host.manager.workers.get(rig.intake.get('web').metadata.uid)?.pod.metadata.labels).toEqual({ changed: 'yes' }));
    expect((await containers()).map(({ Id }) => Id).sort()).toEqual(there);
    expect(rig.intake.statuses.slice(writes)).toEqual([]);
    expect(rig.intake.status('web')).toEqual(before);
  });

  it('that ended meanwhile are handled by their policy, with the back-off they had', async () => {
    rig.intake.create('always', { containers: [sh('sleep 1; exit 1')] });
    rig.intake.create('never', { restartPolicy: 'Never', containers: [sh(forever)] });
    await phase('never', 'Running');
    await eventually(() => expect(rig.container('always', 'main')?.state.waiting?.reason).toBe('CrashLoopBackOff'), within);
    const waits = rig.container('always', 'main')!;
    const before = rig.intake.statuses.length;
    await rig.down();
    await rig.docker.request('POST', `/containers/${rig.container('never', 'main')?.containerID?.replace('docker://', '')}/kill`);
    await rig.up();
    await phase('never', 'Failed');
    expect(rig.container('never', 'main')?.state.terminated).toMatchObject({ exitCode: 137, reason: 'Error' });
    // The next that is told of the other is its next run, no sooner than it was due.
    const next = await eventually(() => rig.intake.statuses.slice(before).find(({ name, status }) => name === 'always' && !isDeepStrictEqual(status.containerStatuses?.[0], waits)) ?? false, within);
    expect(next.at - Date.parse(waits.lastState.terminated?.finishedAt ?? '')).toBeGreaterThanOrEqual(10_000);
    expect(next.status.containerStatuses?.[0]).toMatchObject({ restartCount: waits.restartCount + 1 });
  });

  it('that were deleted meanwhile are ended; those that lost their containers are made anew', async () => {
    rig.intake.create('gone', { containers: [sh(forever)] });
    rig.intake.create('lost', { containers: [sh(forever)] });
    rig.intake.create('lost-once', { restartPolicy: 'Never', containers: [sh(forever)] });
    for (const name of rig.intake.names) await phase(name, 'Running');
    const keep = new Set(['lost', 'lost-once'].map((name) => rig.intake.get(name).metadata.uid));
    await rig.down();
    rig.intake.remove('gone');
    for (const uid of keep) await rig.runtime.removePod(uid);
    await rig.up();
    await eventually(() => expect(rig.container('lost', 'main')).toMatchObject({ ready: true, restartCount: 1, lastState: { terminated: { reason: 'ContainerStatusUnknown', exitCode: 137 } } }), within);
    await phase('lost-once', 'Failed');
    await eventually(async () => expect((await containers()).filter(({ State }) => State === 'running')).toHaveLength(2), within);
  });

  it('have their volumes still; ended as those that nobody knows, they leave what they wrote', async () => {
    const disk = await mkdtemp(join(tmpdir(), 'roundsman-disk-'));
    rig.intake.claims.set('data', disk);
    rig.intake.create('writer', { containers: [{ ...sh(`echo run >> /data/runs; ${forever}`), volumeMounts: [{ name: 'data', mountPath: '/data', subPath: 'sub' }] }], volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    await phase('writer', 'Running');
    const runs = join(disk, 'sub', 'runs');
    await eventually(async () => expect(await readFile(runs, 'utf8')).toBe('run\n'), within);
    await rig.down();
    await rig.docker.request('POST', `/containers/${rig.container('writer', 'main')?.containerID?.replace('docker://', '')}/kill`);
    await rig.up();
    await eventually(async () => expect(await readFile(runs, 'utf8')).toBe('run\nrun\n'), within);
    await rig.down();
    rig.intake.remove('writer');
    rig.intake.claims.delete('data');
    await rig.up();
    await eventually(async () => expect([await containers(), await readdir(join(rig.folder, 'pods')), await mountsBelow(rig.folder)]).toEqual([[], [], []]), within);
    expect(await readFile(runs, 'utf8')).toBe('run\nrun\n');
    await rm(disk, { recursive: true });
  });

  it('what changed without an announcement is found when all is looked at again', async () => {
    rig.intake.deaf = true;
    rig.intake.create('quiet', { containers: [sh(forever)] });
    await eventually(() => expect(rig.intake.status('quiet').phase).toBe('Running'), { within: 60_000 });
    rig.intake.deaf = false;
  });

  it('outlive the daemon’s end, which is told as a condition', async () => {
    rig.intake.create('web', { containers: [sh(forever)] });
    await phase('web', 'Running');
    const before = rig.container('web', 'main')?.containerID;
    expect(rig.host.condition()).toMatchObject({ type: 'ContainersRunnable', status: 'True' });
    await rig.docker.kill();
    await eventually(() => expect(rig.host.condition()).toMatchObject({ status: 'False', reason: 'ContainerRuntimeIsDown' }), { within: 60_000 });
    rig.intake.create('later', { containers: [sh(forever)] });
    await rig.docker.restart();
    await phase('later', 'Running');
    await eventually(() => expect(rig.host.condition()).toMatchObject({ status: 'True' }), within);
    expect(rig.container('web', 'main')).toMatchObject({ containerID: before, restartCount: 0, ready: true });
  });

  it('are judged only when the daemon could be asked: an agent that starts without it waits', async () => {
    rig.intake.create('once', { restartPolicy: 'Never', containers: [sh(forever)] });
    await phase('once', 'Running');
    const before = rig.container('once', 'main');
    await rig.down();
    await rig.docker.kill();
    await rig.up();
    rig.intake.change('once', (pod) => ({ ...pod, metadata: { ...pod.metadata, labels: { changed: 'yes' } } }));
    await eventually(() => expect(rig.host.manager.workers.get(rig.intake.get('once').metadata.uid)?.pod.metadata.labels).toEqual({ changed: 'yes' }));
    await rig.docker.restart();
    await eventually(() => expect(rig.host.manager.workers.get(rig.intake.get('once').metadata.uid)?.runs.get('main')?.[0]?.state).toBe('running'), { within: 60_000 });
    expect(rig.container('once', 'main')).toEqual(before);
  });
});
