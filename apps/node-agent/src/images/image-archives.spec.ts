import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fakeImage, FakePodRuntime } from '@roundsman/containers';
import { pino } from 'pino';
import { noMaterials } from '../environment/materials.ts';
import { container, podOf } from '../testing/runs.ts';
import { ImageArchives } from './image-archives.ts';
import { Images } from './images.ts';

const tags = ['runner:1-abc', 'runner:1'];

describe('images in archives', () => {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-archives-'));
  const file = join(folder, 'runner.tar');
  beforeAll(() => {
    writeFileSync(join(folder, 'layer.tar'), Buffer.alloc(2_000));
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify([{ Config: 'x.json', RepoTags: tags, Layers: ['layer.tar'] }]));
    execFileSync('tar', ['-cf', file, '-C', folder, 'layer.tar', 'manifest.json']);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const rig = (files = [file]) => {
    const runtime = new FakePodRuntime([]);
    runtime.archives.set(file, tags);
    const archives = (): ImageArchives => new ImageArchives({ runtime, daemon: 'docker.sock', files, log: pino({ level: 'silent' }) });
    const told: string[] = [];
    const images = new Images(runtime, { record: (_pod, type, reason, message) => void told.push(`${type} ${reason}: ${message}`) }, archives());
    const ensure = (image: string, imagePullPolicy: 'IfNotPresent' | 'Never' = 'IfNotPresent') => {
      const pod = podOf({ containers: [container('a', { image, imagePullPolicy })] });
      return images.ensure(pod, pod.spec.containers[0]!, () => Promise.resolve(noMaterials));
    };
    return { runtime, archives, told, ensure };
  };

  it('are loaded at the start where one is missing or of another build, once for all nodes of a daemon', async () => {
    const { runtime, archives } = rig();
    await Promise.all([archives().start(), archives().start()]);
    await archives().start();
    expect([runtime.calls, [...runtime.images.keys()]]).toEqual([[`load ${file}`], tags]);
    runtime.images.set('runner:1', { ...fakeImage('runner:1'), id: 'sha256:another' });
    await archives().start();
    expect(runtime.calls).toHaveLength(2);
  });

  it('take the place of older builds; what is no build stays', async () => {
    const { runtime, archives } = rig();
    for (const reference of ['runner:1-old', 'runner:mine']) runtime.images.set(reference, fakeImage(reference));
    for (const reference of ['runner:1-old', ...tags]) runtime.builds.add(reference);
    await archives().start();
    expect([...runtime.images.keys()].sort()).toEqual([...tags, 'runner:mine'].sort());
  });

  it('are loaded for a pod that wants one that was removed; others are pulled', async () => {
    const { runtime, told, ensure } = rig();
    await ensure('runner:1', 'Never');
    runtime.images.clear();
    await ensure('runner:1-abc');
    expect(runtime.calls).toEqual([`load ${file}`, `load ${file}`]);
    expect(told.at(-1)).toBe('Normal Pulled: Container image "runner:1-abc" already present on machine');
    await expect(ensure('other:1')).rejects.toMatchObject({ reason: 'ErrImagePull' });
    expect(runtime.calls.at(-1)).toBe('pull other:1');
  });

  it('that cannot be had say why, and a daemon that is away is no such problem', async () => {
    const broken = rig();
    broken.runtime.archives.clear();
    await broken.archives().start();
    await expect(broken.ensure('runner:1')).rejects.toMatchObject({ reason: 'ErrImagePull', message: `cannot be loaded from its archive: ${file}: no such file` });
    expect(broken.told.at(-1)).toMatch(/^Warning Failed: Container image "runner:1" cannot be loaded from its archive: /);
    const missing = rig([join(folder, 'nowhere.tar'), file]);
    await missing.ensure('runner:1');
    expect(missing.runtime.calls).toEqual([`load ${file}`]);
    const away = rig();
    away.runtime.unavailable = 'gone';
    await expect(away.ensure('runner:1')).rejects.toMatchObject({ code: 'Unavailable' });
  });
});
