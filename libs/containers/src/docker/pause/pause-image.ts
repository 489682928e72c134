import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { pauseProgram } from './pause-program.ts';

/** Goes up with every change of what lies in this folder. */
export const pauseImage = 'roundsman/pause:1';

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The image of sandboxes as `docker load` takes it: manifest, configuration, one layer with one file. */
export async function pauseArchive(architecture: string = process.arch): Promise<Buffer> {
  const layer = await tar([{ name: 'pause', mode: 0o755, content: pauseProgram(architecture) }]);
  const config = Buffer.from(
    JSON.stringify({
      architecture: architectures[architecture],
      os: 'linux',
      created: '2024-01-01T00:00:00Z',
      config: { Entrypoint: ['/pause'], User: '65535:65535' },
      rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(layer)}`] },
    }),
  );
  const configName = `${sha256(config)}.json`;
  const manifest = [{ Config: configName, RepoTags: [pauseImage], Layers: ['layer.tar'] }];
  return tar([
    { name: 'manifest.json', mode: 0o644, content: Buffer.from(JSON.stringify(manifest)) },
    { name: configName, mode: 0o644, content: config },
    { name: 'layer.tar', mode: 0o644, content: layer },
  ]);
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

async function tar(files: readonly { readonly name: string; readonly mode: number; readonly content: Buffer }[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, ...header } of files) archive.entry({ ...header, mtime: new Date(0) }, content);
  archive.finalize();
  return buffer(archive);
}
