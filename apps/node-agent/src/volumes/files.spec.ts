import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { writePayload } from './atomic-writer.ts';
import { prepareHostPath } from './host-path.ts';
import { bindMount, isMounted, isRemote, mountsBelow, unmountBelow } from './mounts.ts';
import { PodFiles } from './pod-files.ts';
import { subPathOf } from './sub-path.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'roundsman-volume-'));
});
afterEach(async () => {
  await unmountBelow(root);
  await rm(root, { recursive: true, force: true });
});

describe('a volume of keys', () => {
  const payload = (files: Record<string, string>, mode = 0o644) => new Map(Object.entries(files).map(([path, text]) => [path, { bytes: Buffer.from(text), mode }]));

  it('shows files through one link that is swung over; nothing is written when nothing changed', async () => {
    const folder = join(root, 'v');
    expect(await writePayload(folder, payload({ a: '1', 'sub/b': '2' }), undefined)).toBe(true);
    const first = await readlink(join(folder, '..data'));
    expect([await readFile(join(folder, 'a'), 'utf8'), await readFile(join(folder, 'sub/b'), 'utf8'), await readlink(join(folder, 'sub'))]).toEqual(['1', '2', '..data/sub']);
    expect(await writePayload(folder, payload({ a: '1', 'sub/b': '2' }), undefined)).toBe(false);
    expect(await readlink(join(folder, '..data'))).toBe(first);
    expect(await writePayload(folder, payload({ a: '3', c: '4' }, 0o400), undefined)).toBe(true);
    expect((await readdir(folder)).sort()).toEqual([await readlink(join(folder, '..data')), '..data', 'a', 'c'].sort());
    expect([await readFile(join(folder, 'a'), 'utf8'), (await stat(join(folder, 'c'))).mode & 0o777]).toEqual(['3', 0o400]);
  });
});

describe('the files of a pod', () => {
  it('go without what is mounted in them, though a link leads to their folder', async () => {
    // Only root mounts.
    if (process.getuid?.() !== 0) return;
    const [disk, real, link] = ['disk', 'real', 'link'].map((name) => join(root, name)) as [string, string, string];
    for (const each of [disk, join(real, 'uid', 'subpaths')]) await mkdir(each, { recursive: true });
    await writeFile(join(disk, 'precious'), 'x');
    await symlink(real, link);
    await bindMount(disk, join(link, 'uid', 'subpaths'));
    expect([await mountsBelow(join(link, 'uid')), await isMounted(join(link, 'uid', 'subpaths')), await isMounted(join(link, 'uid'))]).toEqual([[join(real, 'uid', 'subpaths')], true, false]);
    await new PodFiles(link, 'uid').remove();
    expect([await readdir(real), await readdir(disk), await mountsBelow(join(link, 'none', 'such'))]).toEqual([[], ['precious'], []]);
  });
});

describe('a path of the host', () => {
  it('is known to be on a server, that may not answer, by the mount that it lies on', () => {
    const table = [
      '22 1 8:1 / / rw - ext4 /dev/sda1 rw', '30 22 0:50 / /mnt/share rw shared:1 - nfs4 10.0.0.9:/exports rw', '31 30 8:2 / /mnt/share/disk rw - xfs /dev/sdb rw',
      '32 22 8:3 / /mnt/twice rw - ext4 /dev/sdc rw', '33 22 0:51 / /mnt/twice rw - cifs //host/share rw', '34 22 0:52 / /mnt/with\\040space rw - fuse.sshfs host:/ rw', '',
    ].join('\n');
    const remote = ['/mnt/share', '/mnt/share/a/b', '/mnt/share/disk', '/mnt/shared', '/mnt/twice/x', '/mnt/with space/x', '/'].map((path) => isRemote(path, table));
    expect(remote).toEqual([true, true, false, false, true, true, false]);
  });


  it('is checked, or made, as its type says', async () => {
    const file = join(root, 'file');
    await writeFile(file, '');
    const socket = createServer();
    await new Promise<void>((resolve) => socket.listen(join(root, 'socket'), resolve));
    const prepare = (path: string, type: Parameters<typeof prepareHostPath>[1]['type']) => prepareHostPath('v', { path, type });
    try {
      for (const [path, type] of [[root, 'Directory'], [file, 'File'], [join(root, 'socket'), 'Socket'], ['/dev/null', 'CharDevice'], [file, 'FileOrCreate'], [root, 'DirectoryOrCreate'], [file, '']] as const) {
        expect(await prepare(path, type)).toBe(path);
      }
      const refused = [
        [file, 'Directory', 'a directory'], [file, 'DirectoryOrCreate', 'a directory'], [root, 'File', 'a file'], [file, 'Socket', 'a socket file'],
        [file, 'CharDevice', 'a character device'], ['/dev/null', 'BlockDevice', 'a block device'], [join(root, 'none'), 'Directory', 'a directory'], [join(root, 'none'), 'File', 'a file'],
      ] as const;
      for (const [path, type, words] of refused) await expect(prepare(path, type)).rejects.toThrow(`hostPath type check failed: ${path} is not ${words}`);
      await prepare(join(root, 'made', 'deep'), 'DirectoryOrCreate');
      await prepare(join(root, 'touched'), 'FileOrCreate');
      expect([(await lstat(join(root, 'made', 'deep'))).isDirectory(), (await lstat(join(root, 'touched'))).isFile()]).toEqual([true, true]);
    } finally {
      socket.close();
    }
  });
});

describe('a part of a volume', () => {
  const at = (subPath: string) => subPathOf(join(root, 'v'), subPath, join(root, 'pinned'));
  beforeEach(() => mkdir(join(root, 'v')));

  it('is made where it is missing, found through links within, and stays what it was', async () => {
    await at('a/b');
    expect((await stat(join(root, 'v/a/b'))).isDirectory()).toBe(true);
    await writeFile(join(root, 'v/file'), 'inside');
    await symlink('file', join(root, 'v/link'));
    const found = await at('link');
    expect(await readFile(found, 'utf8')).toBe('inside');
    if (process.getuid?.() !== 0) return;
    await rm(join(root, 'v/file'));
    await symlink('/etc/passwd', join(root, 'v/file'));
    expect(await readFile(found, 'utf8')).toBe('inside');
  });

  it('never leads out', async () => {
    await symlink('/etc', join(root, 'v/out'));
    await symlink('..', join(root, 'v/up'));
    await symlink('/no/such', join(root, 'v/dangling'));
    for (const subPath of ['../x', '/etc', 'out', 'out/passwd', 'out/made', 'up', 'up/v/../..']) await expect(at(subPath)).rejects.toThrow(/leads out of its volume|must not be absolute/);
    await expect(at('dangling/x')).rejects.toThrow('ENOENT');
    expect(await readdir(join(root, 'v'))).toHaveLength(3);
  });
});
