import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldest = [2, 12] as const;
const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
      .filter((name) => /^nats-server(-[\d.]+)?$/.test(name))
      .sort()
      .reverse()
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
};

/** In the order in which the product looks, the caches where it keeps what it built included. */
function* candidates(): Generator<string> {
  const { env } = process;
  for (const folder of (env['PATH'] ?? '').split(delimiter)) if (folder !== '') yield join(folder, 'nats-server');
  yield* namesIn(env['ROUNDSMAN_CACHE'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'roundsman'));
  yield* namesIn(fileURLToPath(new URL('../../../.cache/roundsman', import.meta.url)));
  yield join(env['GOPATH'] || join(homedir(), 'go'), 'bin', 'nats-server');
}

let found: string | undefined;

/** A NATS server of 2.12 or later: $ROUNDSMAN_NATS_SERVER, PATH, the product's cache, Go's bin folder. */
export function natsServer(): string {
  const given = process.env['ROUNDSMAN_NATS_SERVER'];
  if (given !== undefined && given !== '') return given;
  if (found !== undefined) return found;
  const tooOld: string[] = [];
  for (const path of candidates()) {
    if (!existsSync(path)) continue;
    const version = /v(\d+)\.(\d+)\.\d+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }));
    const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
    if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) {
      found = path;
      return path;
    }
    tooOld.push(`${path} is ${version?.[0] ?? 'of no known version'}`);
  }
  throw new Error(`no nats-server ${oldest.join('.')} or later found (${tooOld.join(', ') || 'none at all'}): put one on PATH or name it in ROUNDSMAN_NATS_SERVER`);
}
