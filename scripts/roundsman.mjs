#!/usr/bin/env node
// `roundsman`: makes the workspace current, then hands over to the command line in apps/roundsman.
import { join } from 'node:path';
import { exec, prepare, root } from './runtime.mjs';

prepare();
// `up` stays and idles: a small young generation.
const flags = process.argv[2] === 'up' ? ['--max-semi-space-size=4'] : [];
exec('node', [...flags, join(root, 'apps', 'roundsman', 'dist', 'main.js'), ...process.argv.slice(2)]);
