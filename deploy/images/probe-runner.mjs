// The image of the probe-runner: Node, its libraries, the runner, and a user without rights. No shell, no package manager, no registry.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { layerOf, sha256, writeImage } from './archive.mjs';
import { bundled } from './bundle.mjs';
import { madeBefore, remember } from './made-before.mjs';
import { nodePath, nodeProgram } from './node-program.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const repository = 'roundsman/probe-runner';
const user = 65_532;
const architectures = { x64: 'amd64', arm64: 'arm64' };

const systemFiles = [
  { path: 'etc/passwd', mode: 0o644, content: `root:x:0:0:root:/:/sbin/nologin\nrunner:x:${user}:${user}:probe-runner:/data:/sbin/nologin\n` },
  { path: 'etc/group', mode: 0o644, content: `root:x:0:\nrunner:x:${user}:\n` },
  { path: 'etc/nsswitch.conf', mode: 0o644, content: 'passwd: files\ngroup: files\nhosts: files dns\n' },
  { path: 'etc/roundsman', mode: 0o755 },
  { path: 'data', mode: 0o750, uid: user },
  { path: 'tmp', mode: 0o1777 },
];

/**
 * Makes the archive in `folder`, unless it lies there (`always`: even so), and removes those of other builds from it. Tags: the version, and the version with
 * what the build holds (the runner, the version of Node), so that a cluster sees that it has changed; machines with the same sources agree on it.
 */
export async function makeProbeRunnerImage(folder, { always = false } = {}) {
  const started = performance.now();
  const told = (image, made) => ({ ...image, bytes: statSync(image.archive).size, made, seconds: (performance.now() - started) / 1000 });
  const before = always ? undefined : madeBefore(folder, root, 'probe-runner');
  if (before !== undefined) return told(before, false);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const { runnerNodeFlags, runnerPrograms } = await import(pathToFileURL(join(root, 'apps/probe-runner/dist/index.js')).href);
  const architecture = architectures[process.arch];
  if (architecture === undefined) throw new Error(`no image for ${process.arch}: ${Object.keys(architectures).join(' and ')} are there`);
  const config = {
    User: `${user}:${user}`,
    Env: ['PATH=/usr/bin', 'NODE_ENV=production', 'HOME=/data'],
    Entrypoint: [`/${nodePath}`, ...runnerNodeFlags],
    Cmd: ['/app/dist/main.js'],
    WorkingDir: '/data',
    // By the last one agents know which images they may remove once a newer build is there (libs/containers: imageBuildLabel).
    Labels: { 'org.opencontainers.image.title': 'Roundsman probe-runner', 'org.opencontainers.image.version': version, 'roundsman.io/build-of': repository },
  };
  const { entries, imported } = await bundled(root, 'probe-runner', runnerPrograms);
  const app = await layerOf(entries);
  const content = sha256(JSON.stringify([app.digest, process.version, architecture, config, systemFiles])).slice(0, 12);
  const tags = [`${repository}:${version}-${content}`, `${repository}:${version}`];
  const name = `probe-runner-${version}-${content}.tar`;
  const archive = join(folder, name);
  const made = always || !existsSync(archive);
  if (made) {
    mkdirSync(folder, { recursive: true });
    const base = await layerOf([...nodeProgram(), ...systemFiles]);
    await writeImage(archive, { architecture, config, layers: [base, app], tags });
    for (const other of readdirSync(folder)) if (other !== name && isOver(other)) rmSync(join(folder, other), { force: true });
  }
  remember(folder, root, 'probe-runner', { image: tags[0], tags, file: name }, imported);
  return told({ image: tags[0], tags, archive }, made);
}

/** An archive of another build, or what one that was killed has left of its own (archive.mjs). */
function isOver(name) {
  const [, pid] = /^probe-runner-.*\.tar(?:\.(\d+))?$/.exec(name) ?? [];
  return pid === undefined ? /^probe-runner-.*\.tar$/.test(name) : !existsSync(`/proc/${pid}`);
}
