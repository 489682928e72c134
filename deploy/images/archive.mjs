// Layers and archives as `docker load` and `ctr images import` take them: https://github.com/moby/docker-image-spec (image JSON, combined archive).
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';

/** The same for everything: what an archive holds must not depend on when it was made. */
const madeAt = new Date('2024-01-01T00:00:00Z');

export const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

/**
 * A layer: `{ path, mode, uid?, content }` for a file, `{ path, mode, uid?, link }` for a symbolic link, `{ path, mode, uid? }` for a folder.
 * The folders on the way to them are added; order does not matter.
 */
export async function layerOf(entries) {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    const parts = path.split('/').slice(0, -1);
    for (let at = 1; at <= parts.length; at++) if (!all.has(parts.slice(0, at).join('/'))) all.set(parts.slice(0, at).join('/'), { path: parts.slice(0, at).join('/'), mode: 0o755 });
  }
  const archive = pack();
  for (const { path, mode, uid = 0, content, link } of [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const kind = content !== undefined ? { name: path, type: 'file' } : link !== undefined ? { name: path, type: 'symlink', linkname: link } : { name: `${path}/`, type: 'directory' };
    archive.entry({ ...kind, mode, uid, gid: uid, mtime: madeAt }, content);
  }
  archive.finalize();
  const bytes = await buffer(archive);
  return { bytes, digest: sha256(bytes) };
}

/** Writes the archive of an image, whole or not at all; resolves with its id (`sha256:…`, the digest of its configuration). */
export async function writeImage(file, { architecture, config, layers, tags }) {
  const configuration = Buffer.from(JSON.stringify({ architecture, os: 'linux', created: madeAt.toISOString(), config, rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => `sha256:${digest}`) } }));
  const id = sha256(configuration);
  const manifest = [{ Config: `${id}.json`, RepoTags: tags, Layers: layers.map(({ digest }) => `${digest}/layer.tar`) }];
  const archive = pack();
  const add = (name, content) => archive.entry({ name, mode: 0o644, mtime: madeAt }, content);
  add('manifest.json', JSON.stringify(manifest));
  add(`${id}.json`, configuration);
  for (const { bytes, digest } of layers) add(`${digest}/layer.tar`, bytes);
  archive.finalize();
  const temporary = `${file}.${process.pid}`;
  try {
    await pipeline(archive, createWriteStream(temporary, { mode: 0o644 }));
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  return `sha256:${id}`;
}
