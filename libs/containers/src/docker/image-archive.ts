import { createReadStream } from 'node:fs';
import { json, text } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { RuntimeProblem } from '../pod-runtime.ts';
import type { Daemon } from './daemon.ts';

/** References (`name:tag`) of the images in an archive as `docker save` writes it. Rejects when it cannot be read or is none. */
export async function archivedImages(file: string): Promise<string[]> {
  const content = createReadStream(file);
  const archive = extract();
  content.once('error', (error) => archive.destroy(error)).pipe(archive);
  try {
    for await (const entry of archive) {
      if (entry.header.name === 'manifest.json') return ((await json(entry)) as { RepoTags?: string[] | null }[]).flatMap(({ RepoTags }) => RepoTags ?? []);
      entry.resume();
    }
  } finally {
    content.destroy();
  }
  throw new Error(`${file} is no archive of images: it holds no manifest.json`);
}

/** Throws RuntimeProblem `ImageLoad` with the daemon's words. */
export async function loadArchive(daemon: Daemon, file: string): Promise<void> {
  const content = createReadStream(file);
  try {
    await new Promise((resolve, reject) => content.once('open', resolve).once('error', reject));
  } catch (error) {
    throw new RuntimeProblem('ImageLoad', (error as Error).message, { cause: error });
  }
  const said = await daemon.ask('ImageLoad', async (docker) => text(await docker.loadImage(content, { quiet: true })), 0).finally(() => content.destroy());
  const problem = /"error":"((?:[^"\\]|\\.)*)"/.exec(said)?.[1];
  if (problem !== undefined) throw new RuntimeProblem('ImageLoad', problem);
}
