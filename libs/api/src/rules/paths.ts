import type { Cause } from '../kind.ts';
import { invalidValue } from './causes.ts';

/** What would let a path mean another one than it says. */
const misleading = ['//', '/./', '/../', '%2f', '%2F'];
const misleadingEnds = ['/..', '/.'];

/** What is wrong with the path of requests that go somewhere, in Kubernetes' words. */
export function pathCauses(field: string, path: string): Cause[] {
  const causes = path.startsWith('/') ? [] : [invalidValue(field, path, 'must be an absolute path')];
  for (const part of misleading) if (path.includes(part)) causes.push(invalidValue(field, path, `must not contain '${part}'`));
  for (const end of misleadingEnds) if (path.endsWith(end)) causes.push(invalidValue(field, path, `cannot end with '${end}'`));
  return causes;
}

/** What is wrong with a name that becomes part of a URL's path. */
export function segmentProblem(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  const bad = ['/', '%'].find((character) => name.includes(character));
  return bad === undefined ? undefined : `may not contain '${bad}'`;
}
