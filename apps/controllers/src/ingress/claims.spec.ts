import { describe, expect, it } from '@jest/globals';
import type { Ingress, IngressClass } from '@roundsman/api';
import { Claims } from './claims.ts';

const classes = [{ metadata: { name: 'ours' }, spec: { controller: 'roundsman.io/ingress' } }, { metadata: { name: 'theirs' }, spec: { controller: 'k8s.io/ingress-nginx' } }] as unknown as IngressClass[];
const backend = { service: { name: 'web', port: { number: 80 } } };
/** `rules`: host to paths, `=/a` for one that is exact. */
const ingress = (name: string, day: number, rules: Readonly<Record<string, readonly string[]>>, more: object = {}): Ingress =>
  ({
    metadata: { namespace: 'default', name, uid: name, creationTimestamp: `2026-01-0${day}T00:00:00Z`, generation: 1 },
    spec: { ingressClassName: 'ours', rules: Object.entries(rules).map(([host, paths]) => ({ ...(host === '' ? {} : { host }), http: { paths: paths.map((path) => ({ path: path.replace('=', ''), pathType: path.startsWith('=') ? 'Exact' : 'Prefix', backend })) } })), ...more },
  }) as unknown as Ingress;

/** What the first one of these is told. */
function told(one: Ingress, ...others: readonly Ingress[]): string[] {
  const claims = new Claims();
  for (const each of [one, ...others]) claims.put(each);
  return claims.problemsOf(one, classes).map(({ message }) => message);
}
const lost = (to: string, what: string): string => `Ingress "default/${to}" comes first and gets the requests of ${what}`;

describe('what several Ingresses ask for', () => {
  it('belongs to the oldest one, path by path', () => {
    const older = ingress('older', 1, { 'a.example': ['/', '/old'], '': ['/x'] });
    expect(told(ingress('newer', 2, { 'A.example': ['/', '/new'], '': ['/x'] }), older)).toEqual([lost('older', 'path A.example/, path */x')]);
    expect(told(older, ingress('newer', 2, { 'a.example': ['/'] }))).toEqual([]);
    expect(told(ingress('b', 1, { h: ['/'] }), ingress('a', 1, { h: ['/'] }))).toEqual([lost('a', 'path h/')]);
    expect(told(ingress('last', 3, { h: ['/a', '/b'] }), ingress('one', 1, { h: ['/a'] }), ingress('two', 2, { h: ['/a', '/b'] }))).toEqual([lost('one', 'path h/a'), lost('two', 'path h/b')]);
  });

  it('is the same when requests cannot tell it apart', () => {
    const older = ingress('older', 1, { h: ['/a/', '=/b', '/%63'] });
    expect(told(ingress('newer', 2, { h: ['/a', '=/b/', '/b', '/c', '/a/b'], '*.h': ['/a'] }), older)).toEqual([lost('older', 'path h/a, path h/c')]);
    expect(told(ingress('twice', 1, { h: ['/a', '/a'] }))).toEqual([]);
  });

  it('is nothing to those of another class', () => {
    expect(told(ingress('newer', 2, { h: ['/'] }), ingress('older', 1, { h: ['/'] }, { ingressClassName: 'theirs' }))).toEqual([]);
  });

  it('may be the default backend, of a host or of all', () => {
    const all = (name: string, day: number): Ingress => ingress(name, day, {}, { defaultBackend: backend });
    expect(told(all('newer', 2), all('older', 1), ingress('host', 1, { h: [] }, { defaultBackend: backend }))).toEqual([lost('older', 'the default backend')]);
    expect(told(ingress('newer', 2, { h: ['/n'] }, { defaultBackend: backend }), ingress('older', 1, { h: ['/o'] }, { defaultBackend: backend }), all('all', 1))).toEqual([lost('older', 'the default backend of h')]);
  });

  it('is told in short when it is much', () => {
    const paths = Array.from({ length: 9 }, (_, index) => `/${index}`);
    expect(told(ingress('newer', 2, { h: paths }), ingress('older', 1, { h: paths }))).toEqual([lost('older', 'path h/0, path h/1, path h/2, path h/3, path h/4, 4 more')]);
  });

  it('concerns the others only when it changes', () => {
    const claims = new Claims();
    const [first, second] = [ingress('first', 1, { h: ['/'] }), ingress('second', 2, { h: ['/', '/b'] })];
    expect(claims.changed({ type: 'ADDED', object: first, before: undefined })).toEqual([]);
    expect(claims.changed({ type: 'ADDED', object: second, before: undefined })).toEqual(['default/first']);
    expect(claims.changed({ type: 'MODIFIED', object: second, before: second })).toEqual([]);
    const moved = { ...second, metadata: { ...second.metadata, generation: 2 }, spec: ingress('x', 1, { other: ['/'] }).spec };
    expect(claims.changed({ type: 'MODIFIED', object: moved, before: second })).toEqual(['default/first']);
    expect(claims.changed({ type: 'MODIFIED', object: { ...second, metadata: { ...second.metadata, generation: 3 } }, before: moved })).toEqual(['default/first']);
    expect(claims.changed({ type: 'DELETED', object: first, before: first })).toEqual(['default/second']);
    expect(claims.problemsOf(second, classes)).toEqual([]);
  });

  it('is free again when who had it is gone, also where that was not told', () => {
    const [first, again, second] = [ingress('first', 1, { h: ['/'] }), { ...ingress('first', 3, { h: ['/'] }), metadata: { ...ingress('first', 3, {}).metadata, uid: 'again' } }, ingress('second', 2, { h: ['/'] })];
    const claims = new Claims();
    claims.seen({ list: () => [first, second] });
    expect(claims.problemsOf(second, classes)).toHaveLength(1);
    expect(claims.changed({ type: 'DELETED', object: again, before: first })).toEqual(['default/second']);
    expect(claims.problemsOf(second, classes)).toEqual([]);
    claims.seen({ list: () => [first, second] });
    claims.seen({ list: () => [second] });
    expect(claims.problemsOf(second, classes)).toEqual([]);
  });
});
