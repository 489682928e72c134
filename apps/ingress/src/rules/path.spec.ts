import { describe, expect, it } from '@jest/globals';
import { array, assert, constantFrom, property, uniqueArray } from 'fast-check';
import { PathRules } from './path.ts';

const found = (rules: PathRules<string>, path: string): string | undefined => rules.find(path)?.rule;

describe('paths of rules', () => {
  /** The table of the Ingress documentation of Kubernetes: kind, rule's paths, request, which matches. */
  const documented: [kind: 'prefix' | 'exact', paths: string[], request: string, matches: string | undefined][] = [
    ['prefix', ['/'], '/anything', '/'],
    ['exact', ['/foo'], '/foo', '/foo'],
    ['exact', ['/foo'], '/bar', undefined],
    ['exact', ['/foo'], '/foo/', undefined],
    ['exact', ['/foo/'], '/foo', undefined],
    ['prefix', ['/foo'], '/foo', '/foo'],
    ['prefix', ['/foo'], '/foo/', '/foo'],
    ['prefix', ['/foo/'], '/foo', '/foo/'],
    ['prefix', ['/foo/'], '/foo/', '/foo/'],
    ['prefix', ['/aaa/bb'], '/aaa/bbb', undefined],
    ['prefix', ['/aaa/bbb'], '/aaa/bbb', '/aaa/bbb'],
    ['prefix', ['/aaa/bbb/'], '/aaa/bbb', '/aaa/bbb/'],
    ['prefix', ['/aaa/bbb'], '/aaa/bbb/', '/aaa/bbb'],
    ['prefix', ['/aaa/bbb'], '/aaa/bbb/ccc', '/aaa/bbb'],
    ['prefix', ['/aaa/bbb'], '/aaa/bbbxyz', undefined],
    ['prefix', ['/', '/aaa'], '/aaa/ccc', '/aaa'],
    ['prefix', ['/', '/aaa', '/aaa/bbb'], '/aaa/bbb', '/aaa/bbb'],
    ['prefix', ['/', '/aaa', '/aaa/bbb'], '/ccc', '/'],
    ['prefix', ['/aaa'], '/ccc', undefined],
  ];
  it.each(documented)('%s %j and a request of %s: %s', (kind, paths, request, matches) => {
    const rules = new PathRules<string>();
    for (const path of paths) rules.add(path, kind, path);
    expect(found(rules, request)).toBe(matches);
  });

  it('an exact rule comes before a prefix, and the first of two for the same stays', () => {
    const rules = new PathRules<string>();
    rules.add('/foo', 'prefix', 'prefix');
    rules.add('/foo', 'exact', 'exact');
    rules.add('/foo/', 'prefix', 'second');
    expect([found(rules, '/foo'), found(rules, '/foo/x')]).toEqual(['exact', 'prefix']);
  });

  const element = constantFrom('a', 'b', 'ab', '');
  it('the longest prefix matches, element by element, however many rules there are', () => {
    assert(
      property(uniqueArray(array(element, { maxLength: 4 }), { selector: (elements) => `/${elements.join('/')}`.replace(/\/+$/, ''), maxLength: 8 }), array(element, { maxLength: 6 }), (prefixes, request) => {
        const rules = new PathRules<string>();
        for (const elements of prefixes) rules.add(`/${elements.join('/')}`, 'prefix', `/${elements.join('/')}`);
        // What the documentation says, word by word: every element of the rule is the element of the request at its place.
        const trimmed = (elements: string[]): string[] => {
          const kept = [...elements];
          while (kept.at(-1) === '') kept.pop();
          return kept;
        };
        const fits = prefixes.filter((elements) => trimmed(elements).every((one, index) => request[index] === one && trimmed(elements).length <= request.length));
        const longest = fits.sort((one, other) => trimmed(other).length - trimmed(one).length)[0];
        expect(found(rules, `/${request.join('/')}`)).toBe(longest === undefined ? undefined : `/${longest.join('/')}`);
      }),
    );
  });
});
