#!/usr/bin/env node
// `npm test`: everything that can be checked without a person: type check, lint, the dependency rule, unit and e2e tests against real
// servers. Type check, lint and rule count as one test each. The last line is `N passed, N failed` (and `, N skipped` when any); the
// exit code is 1 when anything failed. Arguments go to Jest: npm test -- libs/bus -t 'name'
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childEnv, prepare, root } from './runtime.mjs';
import { serverEnv } from './servers.mjs';

/**
 * Suites that measure time, or that start whole clusters and daemons: they run one at a time, after all others, so that none starves another into
 * honest verdicts about a busy machine.
 */
const alone = ['e2e/src/', 'libs/containers/src/docker/', 'apps/node-agent/', 'libs/probes/', 'apps/probe-runner/'];

const counts = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
/** Why tests were skipped, as the names of their suites say (testkit, `whenDocker`), and how many each time. */
const skips = new Map();

function end() {
  for (const { name, message } of failures) process.stdout.write(`\n✘ ${name}\n${message}\n`);
  for (const [reason, count] of skips) process.stdout.write(`\n${count} skipped: ${reason}\n`);
  process.stdout.write(`\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}\n`);
  process.exit(counts.failed > 0 ? 1 : 0);
}

function fail(name, message) {
  counts.failed += 1;
  failures.push({ name, message: message.split('\n').slice(0, 40).map((line) => `    ${line}`).join('\n') });
}

/** One command that counts as one test. */
function check(name, command, args) {
  const started = Date.now();
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', env: childEnv(), stdio: ['ignore', 'pipe', 'pipe'] });
  const ok = done.status === 0;
  process.stdout.write(`${ok ? '✔' : '✘'} ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)\n`);
  if (ok) counts.passed += 1;
  else fail(name, `${done.stdout || ''}${done.stderr || ''}${done.error ? done.error.message : ''}`.trim());
  return ok;
}

function jest(env, args) {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-test-'));
  const file = join(folder, 'results.json');
  spawnSync(
    join(root, '.runtime/bin/node'),
    ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js', '--ci', '--json', `--outputFile=${file}`, ...args],
    { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    fail('jest', `it ended without results: ${error.message}`);
    return { testResults: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

prepare({ withBuild: false });
const node = join(root, '.runtime/bin/node');
const built = check('type check', node, ['node_modules/tsc7/bin/tsc', '-b']);
check('lint', join(root, 'node_modules/.bin/oxlint'), ['--quiet']);
check('dependency rule', join(root, 'node_modules/.bin/depcruise'), ['--config', '.dependency-cruiser.cjs', 'apps', 'libs', 'e2e']);
// Without a build there is no product to test; what Jest could say would only repeat it.
if (!built) end();
const env = serverEnv();
if (!env) {
  fail('servers for the tests', 'NATS or Postgres could not be had; the lines above say why');
  end();
}
const asked = process.argv.slice(2);
const passes = asked.length > 0 ? [['--maxWorkers=2', ...asked]] : [['--maxWorkers=2', '--testPathIgnorePatterns', ...alone], ['--maxWorkers=1', ...alone]];
for (const suite of passes.flatMap((args) => jest(env, args).testResults)) {
  const name = suite.name.replace(`${root}/`, '');
  for (const { status, fullName, failureMessages } of suite.assertionResults) {
    if (status === 'passed') counts.passed += 1;
    else if (status === 'failed') fail(`${name}: ${fullName}`, failureMessages.join('\n'));
    else {
      counts.skipped += 1;
      const reason = /\[skipped: ([^\]]+)\]/.exec(fullName)?.[1] ?? fullName;
      skips.set(reason, (skips.get(reason) ?? 0) + 1);
    }
  }
  // It could not be loaded, or something outside its tests failed.
  if (suite.status === 'failed' && !suite.assertionResults.some(({ status }) => status === 'failed')) fail(name, suite.message);
}
end();
