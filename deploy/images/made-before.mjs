// What an image was made from, remembered beside its archive: whether it is still that is told by a look at the files, not by making it again.
import { existsSync, readFileSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const record = 'probe-runner.json';

/** Size and time of change; undefined where there is no such file. */
function stateOf(path) {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.size} ${found.mtimeMs}`;
}

/** Files that decide what the image holds besides what its programs import: their package, which packages there are, and who makes it. */
function decisive(root, app) {
  const built = join(root, 'apps', app, 'dist');
  const programs = readdirSync(built, { recursive: true }).filter((name) => name.endsWith('.js') && !name.endsWith('.spec.js')).map((name) => join(built, name));
  const makers = readdirSync(import.meta.dirname).map((name) => join(import.meta.dirname, name));
  return [join(root, 'package.json'), join(root, 'pnpm-lock.yaml'), join(root, 'apps', app, 'package.json'), ...programs, ...makers];
}

/** `{ image, tags, archive }` of what lies in the folder, if nothing it was made from has changed since. */
export function madeBefore(folder, root, app) {
  let known;
  try {
    known = JSON.parse(readFileSync(join(folder, record), 'utf8'));
  } catch {
    // None was made here, or a write was cut off.
    return undefined;
  }
  const { image, tags, file, by, sources = {} } = known;
  const same = by === builtBy && decisive(root, app).every((path) => path in sources) && Object.entries(sources).every(([path, state]) => stateOf(path) === state);
  return same && existsSync(join(folder, file)) ? { image, tags, archive: join(folder, file) } : undefined;
}

/** `imported`: files that its programs import. A folder of another user, who made the image, stays as it is. */
export function remember(folder, root, app, { image, tags, file }, imported) {
  const sources = Object.fromEntries([...new Set([...decisive(root, app), ...imported])].map((path) => [path, stateOf(path)]));
  const temporary = join(folder, `${record}.${process.pid}`);
  try {
    writeFileSync(temporary, JSON.stringify({ image, tags, file, by: builtBy, sources }));
    renameSync(temporary, join(folder, record));
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code)) throw error;
  }
}

const builtBy = `${process.version} ${process.arch}`;
