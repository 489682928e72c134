import { stat } from 'node:fs/promises';
import type { PodSecurityContext } from '@roundsman/api';
import { runChild } from '../child.ts';

const limitMs = 120_000;
const wanted = 0o2070;

/** Gives a volume to the group of the pod (fsGroup): all files may be read and written by it, new ones belong to it. No link is followed. Needs root. */
export async function giveToGroup(path: string, { fsGroup, fsGroupChangePolicy }: PodSecurityContext): Promise<void> {
  if (fsGroup === undefined || process.getuid?.() !== 0) return;
  const { gid, mode } = await stat(path);
  if (fsGroupChangePolicy === 'OnRootMismatch' && gid === fsGroup && (mode & wanted) === wanted) return;
  await runChild('chgrp', ['-hR', '-P', '--', String(fsGroup), path], limitMs);
  await runChild('chmod', ['-R', 'g+rwX', '--', path], limitMs);
  await runChild('find', ['-P', path, '-xdev', '-type', 'd', '-exec', 'chmod', 'g+s', '{}', '+'], limitMs);
}
