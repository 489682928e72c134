import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { normalise } from './normalise.ts';

const ending = (length: number): fc.Arbitrary<string> => fc.string({ unit: fc.constantFrom(...'bcdfghjklmnpqrstvwxz2456789'), minLength: length, maxLength: length });
const hex = (length: number): fc.Arbitrary<string> => fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: length, maxLength: length });
/** Whatever chance makes of it, the outcome is the same. */
const always = <T>(values: fc.Arbitrary<T>, text: (value: T) => string, normal: string): void => fc.assert(fc.property(values, (value) => expect(normalise(text(value))).toBe(normal)));

describe('normalise', () => {
  it('takes the head of a log line away, whatever number the process has', () => {
    const pid = fc.oneof(fc.integer({ min: 30_000, max: 32_767 }), fc.integer({ min: 1, max: 4_194_304 }));
    always(fc.tuple(pid, fc.integer({ min: 0, max: 999_999 })), ([number, micros]) => `E1121 19:41:42.${String(micros).padStart(6, '0')} ${String(number).padStart(7)} run.go:72] "command failed"`, 'ELOGGED run.go:72] "command failed"');
  });

  it('keeps the node ports that the script asks for, and no other', () => {
    expect(normalise('80:30080/TCP')).toBe('80:30080/TCP');
    always(fc.integer({ min: 30_086, max: 32_767 }), (port) => `80:${port}/TCP "nodePort":${port},`, '80:NODEPORT/TCP "nodePort":NODEPORT,');
    always(fc.integer({ min: 30_086, max: 32_767 }), (port) => `  - nodePort: ${port}`, '  - nodePort: NODEPORT');
  });

  it('takes random endings away, also those without a digit and those that end as a node port', () => {
    always(fc.oneof(ending(10), ending(8), fc.constant('bcdfghjklm')), (hash) => `pod-template-hash=${hash}`, 'pod-template-hash=HASH');
    always(ending(10), (hash) => `"pod-template-hash":"${hash}"}`, '"pod-template-hash":"HASH"}');
    always(fc.tuple(ending(10), ending(5)), ([hash, name]) => `gen-${hash}-${name} once-${name}`, 'gen-HASH once-HASH');
    always(fc.oneof(hex(16), hex(11).map((first) => `${first.slice(0, 10)}a31234`)), (name) => `5s   1   once.${name}`, 'AGE  1  once.UNIQUE');
    always(fc.uuid(), (uid) => `uid: ${uid}`, 'uid: UID');
  });

  it('takes ages away, on any day', () => {
    for (const age of ['0s', '119s', '2m', '9m59s', '3h5m', '47h', '2d3h', '324d', '2y', '3y20d']) {
      expect(normalise(`web   1/1   Running   2 (${age} ago)   ${age}`)).toBe('web  1/1  Running  2 (AGE ago)  AGE');
      expect(normalise(`  Warning  Failed  ${age} (x3 over ${age})  loop`)).toBe('  Warning  Failed  AGE  loop');
    }
  });

  it('tells in one order what is told at once', () => {
    const told = 'node/n1 cordoned\nevicting pod a\nevicting pod b\npod/b evicted\nevicting pod b\n';
    expect(normalise('node/n1 cordoned\nevicting pod b\npod/b evicted\nevicting pod a\nevicting pod b\n')).toBe(normalise(told));
    expect(normalise(told)).toBe('node/n1 cordoned\nevicting pod a\nevicting pod b\nevicting pod b\npod/b evicted\n');
  });
});
