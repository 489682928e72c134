import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { provisioners, storageAnnotations, type PersistentVolume, type PersistentVolumeClaim, type Pod, type Volume } from '@roundsman/api';
import { agentIdentity, endpoint, messages, serviceIdentity, type Bus, type Subscription, type WireObject } from '@roundsman/bus';
import { eventually, startNats, type TestNats } from '@roundsman/testkit';
import { pino } from 'pino';
import { bindMount, unmountBelow } from '../mounts.ts';
import { runChild } from '../child.ts';
import { mountNfs } from './nfs.ts';
import { preparePersistent } from './persistent-volume.ts';
import { VolumeRemover } from './volume-remover.ts';

const claim = { metadata: { name: 'c', namespace: 'default', uid: 'claim' } } as unknown as PersistentVolumeClaim;
const pod = (spec: object = {}): Pod => ({ metadata: { name: 'p', namespace: 'default', uid: 'pod' }, spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }], ...spec } }) as unknown as Pod;
const volume = (name: string, spec: object, provisioner?: string): PersistentVolume =>
  ({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, uid: `uid-${name}`, annotations: provisioner === undefined ? {} : { [storageAnnotations.provisionedBy]: provisioner } }, spec: { claimRef: { namespace: 'default', name: 'c', uid: 'claim' }, volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Delete', ...spec } }) as unknown as PersistentVolume;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'roundsman-volumes-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('what is behind a claim', () => {
  const prepare = (found: PersistentVolume | undefined, options: Partial<NonNullable<Volume['persistentVolumeClaim']>> = {}, spec: object = {}) =>
    preparePersistent(pod(spec), { name: 'v', persistentVolumeClaim: { claimName: 'c', ...options } }, 'c', { claim, volume: found }, join(folder, 'mounted'));

  it('is a directory that is made once, and that everybody may write to', async () => {
    const path = join(folder, 'volumes', 'pvc-1');
    expect(await prepare(volume('pvc-1', { hostPath: { path, type: 'DirectoryOrCreate' } }, provisioners.local), { readOnly: true })).toEqual({ path, readOnly: true, remote: false });
    expect((await stat(path)).mode & 0o777).toBe(0o777);
    await writeFile(join(path, 'file'), 'x');
    await prepare(volume('pvc-1', { hostPath: { path } }, provisioners.local), {}, { securityContext: process.getuid?.() === 0 ? { fsGroup: 4711 } : {} });
    if (process.getuid?.() === 0) expect([(await stat(join(path, 'file'))).gid, (await stat(path)).mode & 0o7070]).toEqual([4711, 0o2070]);
  });

  it('is refused while it is not bound, is another one’s, or not there', async () => {
    await expect(prepare(undefined)).rejects.toThrow('PVC is not bound: default/c');
    await expect(prepare(volume('other', { claimRef: { uid: 'another' }, hostPath: { path: folder } }))).rejects.toThrow('PVC is not bound');
    await expect(prepare(volume('disk', { local: { path: join(folder, 'none') } }))).rejects.toThrow(`path "${join(folder, 'none')}" does not exist`);
    await expect(prepare(volume('raw', { volumeMode: 'Block', local: { path: folder } }))).rejects.toThrow('volumeMode Block, which is not served here');
  });

  it('on a server that cannot be mounted is told in words, and soon', async () => {
    await expect(mountNfs({ server: '127.0.0.1', path: '/nowhere' }, join(folder, 'nfs'), { readOnly: false })).rejects.toThrow(/^mounting 127\.0\.0\.1:\/nowhere failed: .+/);
    await expect(runChild('sleep', ['60'], 50)).rejects.toThrow('sleep did not end within 0.05 s');
    await expect(runChild('no-such-program', [], 1_000)).rejects.toThrow('no-such-program is not there');
  });
});

describe('what is removed', () => {
  let nats: TestNats;
  let intake: Bus;
  let agent: Bus;
  let served: Subscription;
  let remover: VolumeRemover;
  let wanted: PersistentVolume[] = [];
  let removed: string[] = [];
  const kept = new Map<string, string>();
  let pods: Pod[] = [];
  beforeAll(async () => {
    nats = await startNats({ identities: [serviceIdentity('intake'), agentIdentity('n1')] });
    [intake, agent] = await Promise.all([nats.connect('intake'), nats.connect('agent-n1')]);
  });
  afterAll(() => nats.stop());
  beforeEach(async () => {
    [wanted, removed, pods] = [[], [], []];
    served = await intake.serve({ name: 'intake', version: '0.1.0', description: 'test' }, [
      endpoint(messages.nodeVolumes, () => ({ volumes: wanted as unknown as WireObject[] }), { node: 'n1' }),
      endpoint(
        messages.nodeWrite,
        (asked) => {
          if (asked.operation === 'volumeKept') {
            kept.set(asked.name, asked.message);
            return {};
          }
          if (asked.operation !== 'volumeRemoved') throw new Error('unexpected');
          removed.push(asked.name);
          wanted = wanted.filter(({ metadata }) => metadata.name !== asked.name);
          return {};
        },
        { node: 'n1' },
      ),
    ]);
    remover = new VolumeRemover({ bus: agent, node: 'n1', folder, pods: () => pods, log: pino({ level: 'silent' }) });
  });
  afterEach(async () => {
    await remover.stop();
    await served.stop();
  });
  const made = async (name: string): Promise<PersistentVolume> => {
    await mkdir(join(folder, name, 'deep'), { recursive: true });
    await writeFile(join(folder, name, 'deep', 'file'), 'x');
    return volume(name, { hostPath: { path: join(folder, name) } }, provisioners.local);
  };

  it('is the directory of a volume that goes, and nothing that a link leads to', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'roundsman-outside-'));
    await writeFile(join(outside, 'precious'), 'x');
    wanted = [await made('pvc-1')];
    await symlink(outside, join(folder, 'pvc-1', 'link'));
    // The directory itself was replaced by a link.
    wanted.push(volume('pvc-2', { hostPath: { path: join(folder, 'pvc-2') } }, provisioners.local));
    await symlink(outside, join(folder, 'pvc-2'));
    await remover.start();
    await eventually(() => expect(removed).toEqual(['pvc-1', 'pvc-2']));
    expect([existsSync(join(folder, 'pvc-1')), existsSync(join(folder, 'pvc-2')), existsSync(join(outside, 'precious'))]).toEqual([false, false, true]);
    await rm(outside, { recursive: true });
  });

  it('is nothing that is to be retained, nor what something is mounted in', async () => {
    const retained = await made('pvc-6');
    retained.spec.persistentVolumeReclaimPolicy = 'Retain';
    wanted = [retained, await made('pvc-7'), await made('pvc-8')];
    const link = join(folder, 'link');
    await symlink(folder, link);
    // The folder of volumes is reached by a link; of the same file system, so that `rm --one-file-system` does not see it.
    for (const one of wanted) one.spec.hostPath = { path: join(link, one.metadata.name), type: '' };
    const asRoot = process.getuid?.() === 0;
    if (asRoot) await bindMount(join(folder, 'pvc-6'), join(folder, 'pvc-7', 'deep'));
    remover = new VolumeRemover({ bus: agent, node: 'n1', folder: link, pods: () => pods, log: pino({ level: 'silent' }) });
    await remover.start();
    await eventually(() => expect(removed).toContain('pvc-8'));
    expect([removed, existsSync(join(folder, 'pvc-6', 'deep', 'file'))]).toEqual([asRoot ? ['pvc-8'] : ['pvc-7', 'pvc-8'], true]);
    expect(kept.get('pvc-6')).toBe('the directory of the volume is not removed: the reclaim policy of volume pvc-6 is Retain: its directory stays');
    if (asRoot) expect(kept.get('pvc-7')).toContain('something is mounted below');
    await unmountBelow(folder);
  });

  it('is never outside of the folder, nor in use', async () => {
    const used = await made('pvc-3');
    await mkdir(join(folder, 'elsewhere'));
    wanted = [volume('pvc-4', { hostPath: { path: join(folder, 'elsewhere') } }, provisioners.local), used, await made('pvc-5')];
    wanted[2]!.spec.claimRef = { namespace: 'default', name: 'free' };
    pods = [pod()];
    await remover.start();
    await eventually(() => expect(removed).toEqual(['pvc-5']));
    expect([existsSync(join(folder, 'elsewhere')), existsSync(join(folder, 'pvc-3'))]).toEqual([true, true]);
    // Told again when it is free: what a younger pod has by a claim of that name is another volume.
    used.metadata.deletionTimestamp = '2026-01-01T00:00:05Z';
    pods = [{ ...pod(), metadata: { ...pod().metadata, creationTimestamp: '2026-01-01T00:00:05Z' } }];
    intake.publish(messages.nodeVolume, { node: 'n1' }, { name: 'pvc-3' });
    await eventually(() => expect(removed).toEqual(['pvc-5', 'pvc-3']));
  });
});
