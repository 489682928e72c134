/**
 * URL of a compiled file of this app, named without its ending. Threads and child processes run what was built, also when
 * this file itself is run from source (tests): plain Node cannot run decorated or condition-resolved sources.
 */
export function builtFile(name: string): URL {
  return new URL(import.meta.url.endsWith('.ts') ? `../dist/${name}.js` : `./${name}.js`, import.meta.url);
}
