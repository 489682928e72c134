import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Go's name of a processor where Node has another. */
const architectures: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

/** When this file was compiled, as RFC 3339 in whole seconds; it does not change while the program runs. */
const buildDate = `${statSync(fileURLToPath(import.meta.url)).mtime.toISOString().slice(0, 19)}Z`;

/** What `/version` says. kubectl picks its own version by major and minor; the product's is in `gitVersion`. Not Go: `goVersion` is what runs instead. */
export const versionOf = (product: string): Readonly<Record<string, string>> => ({
  major: '1',
  minor: '32',
  gitVersion: `v1.32.0+roundsman.${product}`,
  // Not known to what is installed.
  gitCommit: 'unknown',
  gitTreeState: 'unknown',
  buildDate,
  goVersion: `node ${process.version}`,
  compiler: `V8 ${process.versions.v8}`,
  platform: `${process.platform}/${architectures[process.arch] ?? process.arch}`,
});
