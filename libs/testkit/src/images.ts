import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programPath } from './docker-requirements.ts';
import type { TestDocker } from './docker.ts';

const run = promisify(execFile);

/** An image of busybox with another name or configuration; all share one layer. */
export interface TestImage {
  /** `name:tag`. */
  readonly reference: string;
  /** USER: number, name (of /etc/passwd: root, daemon, nobody), `uid:gid`. */
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  /** Default: `sh`. */
  readonly cmd?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
}

/** What `testImages` always loads. Those of different tags have different ids. */
export const busyboxImages: readonly TestImage[] = [
  { reference: 'busybox:1.35' },
  { reference: 'busybox:1.36', env: ['IMAGE_VERSION=1.36'] },
  { reference: 'busybox:latest', env: ['IMAGE_VERSION=latest'] },
  { reference: 'busybox:nobody', user: 'nobody' },
  { reference: 'busybox:uid1000', user: '1000:1000' },
  { reference: 'busybox:entrypoint', entrypoint: ['/bin/echo', 'entrypoint'], cmd: ['cmd'], workingDir: '/home' },
];

/**
 * Loads images of this machine's static busybox, made here FROM scratch without any registry: `busyboxImages` and `more`.
 * Note that `wget -T` of Debian's busybox 1.35 crashes: use `timeout 2 wget -qO- …`.
 */
export async function testImages(docker: Pick<TestDocker, 'request'>, more: readonly TestImage[] = []): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-images-'));
  try {
    await docker.request('POST', '/images/load?quiet=1', await archive(folder, [...busyboxImages, ...more]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** As `docker save` writes it: manifest.json, one configuration per image, the layer. */
async function archive(folder: string, images: readonly TestImage[]): Promise<Buffer> {
  const files = join(folder, 'files');
  const parts = join(folder, 'archive');
  mkdirSync(parts);
  writeRootfs(files);
  const layer = join(parts, 'layer.tar');
  await run('tar', ['-cf', layer, '--owner=0', '--group=0', '--numeric-owner', '-C', files, '.']);
  const layerDigest = createHash('sha256').update(readFileSync(layer)).digest('hex');
  const manifest = images.map(({ reference, user, entrypoint, cmd = ['sh'], env = [], workingDir }) => {
    const config = JSON.stringify({
      architecture: architectures[process.arch] ?? process.arch,
      os: 'linux',
      created: '2024-01-01T00:00:00Z',
      config: { Env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', ...env], Cmd: cmd, Entrypoint: entrypoint, User: user, WorkingDir: workingDir },
      rootfs: { type: 'layers', diff_ids: [`sha256:${layerDigest}`] },
    });
    const name = `${createHash('sha256').update(config).digest('hex')}.json`;
    writeFileSync(join(parts, name), config);
    return { Config: name, RepoTags: [reference], Layers: ['layer.tar'] };
  });
  writeFileSync(join(parts, 'manifest.json'), JSON.stringify(manifest));
  const file = join(folder, 'image.tar');
  await run('tar', ['-cf', file, '-C', parts, '.']);
  return readFileSync(file);
}

function writeRootfs(root: string): void {
  for (const name of ['bin', 'etc', 'home', 'root', 'tmp', 'var/log', 'proc', 'sys', 'dev']) mkdirSync(join(root, name), { recursive: true });
  const busybox = programPath('busybox') ?? 'busybox';
  copyFileSync(busybox, join(root, 'bin/busybox'));
  for (const applet of execFileSync(busybox, ['--list'], { encoding: 'utf8' }).split('\n')) {
    if (applet !== '' && applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
  }
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n');
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\ndaemon:x:1:\nnobody:x:65534:\n');
}
