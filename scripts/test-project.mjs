#!/usr/bin/env node
// The tests of the package in whose folder it is started (`pnpm test` there, `pnpm affected` for all that a change touches), against real servers. Needs a build.
import { spawnSync } from 'node:child_process';
import { relative } from 'node:path';
import { root } from './runtime.mjs';
import { serverEnv } from './servers.mjs';

const env = serverEnv();
if (!env) process.exit(1);
const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js', '--maxWorkers=2', '--ci', '--passWithNoTests'];
const done = spawnSync(process.execPath, [...jest, `${relative(root, process.cwd())}/`, ...process.argv.slice(2)], { cwd: root, env, stdio: 'inherit' });
process.exit(done.status ?? 1);
