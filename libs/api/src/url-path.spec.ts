import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, property, string } from 'fast-check';
import { canonicalPath } from './url-path.ts';

describe('the one form of a path', () => {
  it.each([
    ['/a/b?x=/../y', '/a/b'],
    ['/a/../admin', '/admin'],
    ['/a/%2e%2e/admin', '/admin'],
    ['/a/./b/.', '/a/b/'],
    ['/../..', '/'],
    ['/%61dmin', '/admin'],
    ['/a%2fb', '/a%2Fb'],
    ['/café', '/caf%C3%A9'],
    ['/a//b', '/a//b'],
    ['/%zz', undefined],
    ['/\ud800', '/%EF%BF%BD'],
    ['*', undefined],
    ['example.org:443', undefined],
  ])('%s is %s', (target, path) => {
    expect(canonicalPath(target)).toBe(path);
  });

  it('is its own canonical form, and leads nowhere above the root', () => {
    assert(
      property(string({ unit: constantFrom('/', '.', '%2e', '%2F', 'a', '%', '\\', 'é', ' ') }), (text) => {
        const path = canonicalPath(`/${text}`);
        if (path === undefined) return;
        expect(canonicalPath(path)).toBe(path);
        expect(path.split('/')).not.toContain('..');
        expect(path.split('/').slice(1)).not.toContain('.');
      }),
    );
  });
});
