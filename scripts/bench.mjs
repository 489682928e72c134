#!/usr/bin/env node
// `pnpm bench [name ...]`: every benchmark of the workspace against its peer in the same run. A benchmark is a module in a folder `bench` that
// exports run(): Promise<Figure[]> and prints one JSON line per figure when it is run itself. Writes docs/benchmarks.md when all of
// them ran; with names (`pnpm bench probes roundsman`) only those whose path holds one run, and nothing is written.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { prepare, root } from './runtime.mjs';
import { serverEnv } from './servers.mjs';

/** Programs that are measured against, and the Debian package of each. */
const peers = { wrk: 'wrk', hey: 'hey', dnsperf: 'dnsperf', psql: 'postgresql-client', taskset: 'util-linux', dockerd: 'docker.io' };

const onPath = (name) => (process.env.PATH || '').split(':').some((folder) => existsSync(join(folder, name)));

function bringPeers() {
  const missing = Object.keys(peers).filter((name) => !onPath(name));
  if (missing.length === 0) return;
  if (process.getuid() !== 0 || !onPath('apt-get')) {
    process.stderr.write(`Missing: ${missing.join(', ')}. Benchmarks that need them will fail: apt-get install ${missing.map((name) => peers[name]).join(' ')}\n`);
    return;
  }
  const quiet = { stdio: ['ignore', 2, 'inherit'], env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } };
  spawnSync('apt-get', ['update', '-qq'], quiet);
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing.map((name) => peers[name])], quiet);
}

/** One module per benchmark: index.ts where a folder has one, else every file that exports run. */
function modules() {
  return ['libs', 'apps'].flatMap((group) =>
    readdirSync(join(root, group)).flatMap((name) => {
      const folder = join(root, group, name, 'bench');
      if (!existsSync(folder)) return [];
      const files = existsSync(join(folder, 'index.ts')) ? ['index.ts'] : readdirSync(folder).filter((file) => file.endsWith('.ts')).sort();
      return files.filter((file) => /export (async )?function run\(/.test(readFileSync(join(folder, file), 'utf8'))).map((file) => `${group}/${name}/bench/${file}`);
    }),
  );
}

function machine() {
  const memory = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))[1]);
  const system = /PRETTY_NAME="?([^"\n]*)/.exec(readFileSync('/etc/os-release', 'utf8'));
  return `${cpus().length} cores (${cpus()[0].model.trim()}), ${Math.round(memory / 2 ** 20)} GiB, ${system ? system[1] : 'Linux'}, kernel ${release()}`;
}

const number = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString('en-US') : String(Math.round(value * 100) / 100));
const row = ({ name, unit, ours, peer, peerName, ratio, goal, met }) => `| ${name} | ${number(ours)} ${unit} | ${peerName} | ${number(peer)} | ${number(ratio)} | ${goal} | ${met ? 'yes' : '**no**'} |`;
const head = '| figure | ours | peer or bound | its figure | ratio | goal | met |\n|---|---|---|---|---|---|---|';

prepare();
bringPeers();
const env = serverEnv();
if (!env) process.exit(1);
const wanted = process.argv.slice(2);
const chosen = modules().filter((path) => wanted.length === 0 || wanted.some((name) => path.includes(name)));
const sections = [];
let bad = 0;
for (const path of chosen) {
  process.stderr.write(`\n${path} ...\n`);
  const started = Date.now();
  const loadBefore = readFileSync('/proc/loadavg', 'utf8').split(' ')[0];
  const done = spawnSync(join(root, '.runtime/bin/node'), ['--disable-warning=ExperimentalWarning', path], { cwd: root, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  const figures = done.stdout.split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
  if (done.status !== 0 || figures.length === 0) bad += 1;
  bad += figures.filter(({ met }) => !met).length;
  const table = figures.length === 0 ? 'It did not run to its end.' : `${head}\n${figures.map(row).join('\n')}`;
  process.stdout.write(`\n${path}\n${table}\n`);
  sections.push(`## ${path.replace('/bench/', ': ').replace('.ts', '')}\n\n\`node scripts/bench.mjs ${path.split('/')[1]}\`, ${Math.round((Date.now() - started) / 1000)} s, load before it ${loadBefore}\n\n${table}\n`);
}
if (wanted.length === 0) {
  const page = `# Benchmarks\n\nEach figure is measured against its peer, or a bound, in the same run on the same machine. Repeat: \`pnpm bench\` (needs \`wrk\`, \`hey\`, \`dnsperf\`, \`psql\`, Go, Docker and \`kubectl\`; as root on Debian it installs the first four). A ratio is ours divided by the peer's.\n\n- date: ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC\n- machine: ${machine()}\n- Node ${spawnSync(join(root, '.runtime/bin/node'), ['-v'], { encoding: 'utf8' }).stdout.trim()}\n\n${sections.join('\n')}`;
  writeFileSync(join(root, 'docs', 'benchmarks.md'), page);
  process.stderr.write('\nWritten: docs/benchmarks.md\n');
}
process.exit(bad > 0 ? 1 : 0);
