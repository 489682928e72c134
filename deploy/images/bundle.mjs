// The programs of the probe-runner in few files, with all that they import.
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/** Nest looks for these and goes on without them. */
const absent = ['@nestjs/microservices', '@nestjs/websockets', '@nestjs/platform-express', 'class-transformer', 'class-validator'];
/** Packages of the older kind ask for Node's own modules by `require`, which modules do not have. */
const requires = `import { createRequire as makeRequire } from 'node:module';\nconst require = makeRequire(import.meta.url);`;

/**
 * Files of an image below `app`: the package's manifest, and in `dist` what its built programs (named as files of `dist`, without ending) need, under the
 * same names; and the paths of all files they were made from. Needs a build (`pnpm build`).
 */
export async function bundled(root, app, programs) {
  const dist = `apps/${app}/dist`;
  const { outputFiles, metafile } = await build({
    metafile: true,
    absWorkingDir: root,
    entryPoints: programs.map((name) => `${dist}/${name}.js`),
    outbase: dist,
    outdir: dist,
    // Chunks lie beside the main program: what is found relative to a file of `dist` is found there.
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    external: absent,
    banner: { js: requires },
    legalComments: 'none',
    write: false,
    logLevel: 'error',
  });
  const prefix = join(root, dist);
  const entries = [
    { path: 'app/package.json', mode: 0o644, content: readFileSync(join(root, 'apps', app, 'package.json')) },
    ...outputFiles.map(({ path, contents }) => ({ path: `app/dist${path.slice(prefix.length)}`, mode: 0o644, content: Buffer.from(contents) })),
  ];
  return { entries, imported: Object.keys(metafile.inputs).map((path) => resolve(root, path)).filter((path) => existsSync(path)) };
}
