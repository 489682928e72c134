import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { provisioners, storageAnnotations, type PersistentVolume, type PersistentVolumeClaim, type Pod } from '@roundsman/api';
import { isMounted, mountsBelow, unmountBelow } from '../mounts.ts';
import { PodFiles } from '../pod-files.ts';
import { answers, makeOnServer, mountNfs, removeOnServer } from './nfs.ts';
import { preparePersistent } from './persistent-volume.ts';

/** Not every kernel has an NFS client: a `mount` of the test's own shows directories of this machine as those of a server. All else is real. Mounting needs root. */
const standIn = (server: string, log: string): string => `#!/bin/sh
echo "$@" >> '${log}'
[ "$1 $2" = '-t nfs' ] || exec /bin/mount "$@"
case "$5" in
  10.0.0.9:*) exec /bin/mount --bind '${server}'"\${5#*:}" "$6" ;;
esac
echo "mount.nfs: Failed to resolve server" >&2
exit 32
`;

const isRoot = process.getuid?.() === 0;
const claim = { metadata: { name: 'c', namespace: 'default', uid: 'claim' } } as unknown as PersistentVolumeClaim;
const pod = { metadata: { name: 'p', namespace: 'default', uid: 'pod' }, spec: { containers: [] } } as unknown as Pod;
const volume = { metadata: { name: 'pvc-1', annotations: { [storageAnnotations.provisionedBy]: provisioners.nfs } }, spec: { claimRef: { uid: 'claim' }, mountOptions: ['soft'], nfs: { server: '10.0.0.9', path: '/exports/pvc-1' } } } as unknown as PersistentVolume;

describe('volumes on a server, through a stand-in for the NFS client', () => {
  const path = process.env['PATH'];
  let folder: string;
  let server: string;
  let log: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'roundsman-nfs-'));
    [server, log] = [join(folder, 'server'), join(folder, 'log')];
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'bin', 'mount'), standIn(server, log));
    await chmod(join(folder, 'bin', 'mount'), 0o755);
    process.env['PATH'] = `${join(folder, 'bin')}:${path}`;
  });
  beforeEach(async () => {
    await mkdir(join(server, 'exports', 'others'), { recursive: true });
    await writeFile(log, '');
  });
  afterAll(async () => {
    process.env['PATH'] = path;
    await unmountBelow(folder);
    await rm(folder, { recursive: true, force: true });
  });
  const prepare = (uid: string, readOnly = false) => preparePersistent(pod, { name: 'v', persistentVolumeClaim: { claimName: 'c', readOnly } }, 'c', { claim, volume }, join(folder, 'pods', uid, 'volumes', 'v'));

  it('are made once, shared by pods, kept when a pod goes, and go alone', async () => {
    if (!isRoot) return;
    const [one, two] = [await prepare('one'), await prepare('two', true)];
    expect([one.remote, one.readOnly, two.readOnly]).toEqual([true, false, true]);
    await writeFile(join(one.path, 'file'), 'x');
    expect([await readFile(join(two.path, 'file'), 'utf8'), existsSync(join(server, 'exports', 'pvc-1', 'file'))]).toEqual(['x', true]);
    expect((await readFile(log, 'utf8')).split('\n').filter((line) => line.includes('/exports/pvc-1'))).toEqual([`-t nfs -o soft,rw 10.0.0.9:/exports/pvc-1 ${one.path}`, `-t nfs -o soft,ro 10.0.0.9:/exports/pvc-1 ${two.path}`]);
    // The next agent finds it mounted.
    await prepare('one');
    expect((await mountsBelow(one.path)).length).toBe(1);
    for (const uid of ['one', 'two']) await new PodFiles(join(folder, 'pods'), uid).remove();
    expect([await readdir(join(folder, 'pods')), await readdir(join(server, 'exports', 'pvc-1'))]).toEqual([[], ['file']]);
    // An earlier agent was killed while it removed.
    const at = join(folder, '.pvc-1');
    await mountNfs({ server: '10.0.0.9', path: '/exports' }, at, { readOnly: false });
    expect(await isMounted(at)).toBe(true);
    await removeOnServer({ server: '10.0.0.9', path: '/exports/pvc-1' }, at, undefined);
    expect([await readdir(join(server, 'exports')), existsSync(at), await mountsBelow(folder)]).toEqual([['others'], false, []]);
  });

  it('that cannot be reached leave nothing behind and remove nothing', async () => {
    const at = join(folder, '.pvc-2');
    await expect(removeOnServer({ server: '10.0.0.8', path: '/exports/others' }, at, undefined)).rejects.toThrow('mounting 10.0.0.8:/exports failed: mount.nfs: Failed to resolve server');
    await expect(makeOnServer({ server: '10.0.0.8', path: '/exports/new' }, at, undefined)).rejects.toThrow('Failed to resolve server');
    expect([await readdir(join(server, 'exports')), await readdir(at)]).toEqual([['others'], []]);
    await expect(answers(join(folder, 'none'))).rejects.toThrow('No such file or directory');
  });
});
