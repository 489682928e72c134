import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atLeast, executable, makeFolder, onPath, tryRun, versionOf } from './tools.ts';
import { UserError } from './user-error.ts';

/** What is built or taken from an image when the machine has none. */
const version = '2.15.2';
const oldest = [2, 12];
/** Fetched when the machine's Go is too old to fetch a newer one itself. */
const goVersion = '1.26.0';

export interface NatsBinary {
  readonly path: string;
  readonly version: string;
  /** `PATH`, `cache`, `built with Go`: for doctor. */
  readonly from: string;
}

/** The first of these that can be written to: the person's cache, or the workspace's. */
function cacheFolder(): string {
  const own = process.env['ROUNDSMAN_CACHE'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'roundsman');
  try {
    makeFolder(own);
    rmSync(mkdtempSync(join(own, 'try-')), { recursive: true });
    return own;
  } catch {
    const inWorkspace = fileURLToPath(new URL('../../../.cache/roundsman', import.meta.url));
    makeFolder(inWorkspace);
    return inWorkspace;
  }
}

function usable(path: string | undefined, from: string, tooOld: string[]): NatsBinary | undefined {
  if (path === undefined || !executable(path)) return undefined;
  const found = versionOf(path);
  if (found !== undefined && atLeast(found, oldest)) return { path, version: found, from };
  tooOld.push(`${path} is ${found ?? 'not runnable'}`);
  return undefined;
}

/** A NATS server that is there already; `notes` names those that are too old. */
export function findNats(notes: string[] = []): NatsBinary | undefined {
  const given = process.env['ROUNDSMAN_NATS_SERVER'];
  if (given) return usable(given, 'ROUNDSMAN_NATS_SERVER', notes);
  const gobin = process.env['GOPATH'] ? join(process.env['GOPATH'], 'bin') : join(homedir(), 'go', 'bin');
  return (
    usable(onPath('nats-server'), 'PATH', notes) ?? usable(join(cacheFolder(), `nats-server-${version}`), 'cache', notes) ?? usable(join(gobin, 'nats-server'), 'Go', notes)
  );
}

/** Finds a NATS server, else builds one, else takes it out of its container image. Throws a sentence with all that failed. */
export function bringNats(say: (text: string) => void): NatsBinary {
  const failed: string[] = [];
  const found = findNats(failed);
  if (found) return found;
  const target = join(cacheFolder(), `nats-server-${version}`);
  if (failed.length === 0) failed.push('no nats-server on PATH or in the cache');
  const built = build(target, failed, say) || fromImage(target, failed, say);
  if (!built || !existsSync(target)) {
    throw new UserError(
      `no NATS server ${oldest.join('.')} or later: ${failed.join('; ')}`,
      'Do one of these: put nats-server on PATH (https://github.com/nats-io/nats-server/releases), install Go (https://go.dev/dl), or start Docker.',
    );
  }
  return { path: target, version, from: built };
}

function build(target: string, failed: string[], say: (text: string) => void): string | undefined {
  const go = goCommand();
  if (go === undefined) {
    failed.push('no Go toolchain to build one');
    return undefined;
  }
  say(`Building nats-server ${version} with Go (once, a minute or two) ...`);
  const folder = mkdtempSync(`${target}-`);
  try {
    const env = goEnv(folder);
    const toolchain = currentGo(go, env, failed);
    if (toolchain === undefined) return undefined;
    const done = tryRun(toolchain, ['install', '-trimpath', '-ldflags', '-s -w', `github.com/nats-io/nats-server/v2@v${version}`], { env, timeoutMs: 600_000 });
    if (!done.ok) {
      failed.push(`go install failed (${done.problem})`);
      return undefined;
    }
    renameSync(join(folder, 'nats-server'), target);
    return 'built with Go';
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const goCommand = (): string | undefined => onPath('go') ?? (executable('/usr/local/go/bin/go') ? '/usr/local/go/bin/go' : undefined);

/** Go wants a HOME for its caches; where there is none they go beside the binary and are removed with it. */
function goEnv(folder: string): NodeJS.ProcessEnv {
  const writable = tryRun('sh', ['-c', 'test -w "$HOME"']).ok;
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0', GOFLAGS: '-modcacherw' };
  return writable ? env : { ...env, HOME: folder, GOPATH: join(folder, 'go'), GOCACHE: join(folder, 'cache') };
}

/** A Go that can build the server. One older than 1.21 cannot fetch its successor by itself, but it can fetch a module, and Go is one. */
function currentGo(go: string, env: NodeJS.ProcessEnv, failed: string[]): string | undefined {
  const found = versionOf(go, ['version']);
  if (found === undefined || atLeast(found, [1, 21])) return go;
  const fetched = tryRun(go, ['mod', 'download', '-json', `golang.org/toolchain@v0.0.1-go${goVersion}.linux-amd64`], { env });
  const folder = /"Dir": "([^"]+)"/.exec(fetched.output)?.[1];
  if (!fetched.ok || folder === undefined) {
    failed.push(`Go ${found} is too old, and go${goVersion} could not be fetched (${fetched.problem})`);
    return undefined;
  }
  // A module's files are not executable.
  const marked = tryRun('chmod', ['-R', 'u+x', join(folder, 'bin'), join(folder, 'pkg', 'tool')]);
  if (!marked.ok) {
    failed.push(`go${goVersion} cannot be made executable (${marked.problem})`);
    return undefined;
  }
  return join(folder, 'bin', 'go');
}

/** The image holds nothing but a static binary: it is copied out, no container ever runs. */
function fromImage(target: string, failed: string[], say: (text: string) => void): string | undefined {
  const docker = onPath('docker');
  if (docker === undefined) {
    failed.push('no Docker to take it from');
    return undefined;
  }
  say(`Taking nats-server ${version} from its image ...`);
  const made = tryRun(docker, ['create', `nats:${version}`]);
  if (!made.ok) {
    failed.push(`docker create nats:${version} failed (${made.problem})`);
    return undefined;
  }
  const id = made.output.trim().split('\n').at(-1)!;
  const folder = mkdtempSync(`${target}-`);
  try {
    const copied = tryRun(docker, ['cp', `${id}:/nats-server`, join(folder, 'nats-server')]);
    if (!copied.ok) {
      failed.push(`docker cp failed (${copied.problem})`);
      return undefined;
    }
    renameSync(join(folder, 'nats-server'), target);
    return 'image';
  } finally {
    tryRun(docker, ['rm', id]);
    rmSync(folder, { recursive: true, force: true });
  }
}
