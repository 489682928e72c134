#!/usr/bin/env node
// `roundsman`: makes the workspace current, then hands over to the command line in apps/roundsman.
import { join } from 'node:path';
import { exec, prepare, root } from './runtime.mjs';

prepare();
exec('node', [join(root, 'apps', 'roundsman', 'dist', 'main.js'), ...process.argv.slice(2)]);
