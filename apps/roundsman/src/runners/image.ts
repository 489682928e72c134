import { execFile } from 'node:child_process';
import { accessSync, constants, copyFileSync, existsSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { z } from 'zod';
import type { Home } from '../home.ts';

const run = promisify(execFile);
const workspace = fileURLToPath(new URL('../../../../', import.meta.url));
const builder = join(workspace, 'deploy', 'images', 'build.mjs');
const madeSchema = z.object({ image: z.string(), archive: z.string() });

/** The image of the probe-runner as it is in this workspace now: its name, which changes with what it holds, and the archive from which agents load it. */
export type RunnerImage = z.infer<typeof madeSchema>;

/**
 * Made once for each build of the workspace, and kept there where this user may write (else in the home). The home has a link of its own: agents
 * load the image from it again whenever it is missing, also when the workspace has been built anew. Rejects with the reason when it cannot be made.
 */
export async function bringRunnerImage(home: Home): Promise<RunnerImage> {
  const folder = home.file('data', 'images');
  const made = await makeImage(writable(workspace) ? join(workspace, '.cache', 'images') : folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const archive = join(folder, basename(made.archive));
  if (!existsSync(archive)) linkOrCopy(made.archive, archive);
  for (const other of readdirSync(folder)) if (other.includes('.tar') && other !== basename(archive)) rmSync(join(folder, other), { force: true });
  return { image: made.image, archive };
}

/** In a process of its own: it takes memory that this one would keep. */
async function makeImage(folder: string): Promise<RunnerImage> {
  try {
    const { stdout } = await run(process.execPath, [builder, folder, '--if-needed', '--json'], { encoding: 'utf8', timeout: 120_000 });
    return madeSchema.parse(JSON.parse(stdout));
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim().replace(/^image: /, '') || message, { cause: error });
  }
}

function writable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    // Another file system, or another user's file.
    if (!['EXDEV', 'EPERM', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    // Whole or not at all: what has the name is loaded.
    const temporary = `${to}.${process.pid}`;
    copyFileSync(from, temporary);
    renameSync(temporary, to);
  }
}
