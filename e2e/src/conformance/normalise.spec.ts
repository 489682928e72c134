import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { normalise } from './normalise.ts';

describe('normalise', () => {
  it('takes the head of a log line away, whatever number the process has', () => {
    fc.assert(
      fc.property(fc.oneof(fc.integer({ min: 30_000, max: 32_767 }), fc.integer({ min: 1, max: 4_194_304 })), fc.integer({ min: 0, max: 999_999 }), (pid, micros) => {
        const head = `E1121 19:41:42.${String(micros).padStart(6, '0')} ${String(pid).padStart(7)}`;
        expect(normalise(`${head} run.go:72] "command failed"`)).toBe('ELOGGED run.go:72] "command failed"');
      }),
    );
  });

  it('keeps the node ports that the script asks for, and no other', () => {
    expect(normalise('80:30080/TCP')).toBe('80:30080/TCP');
    expect(normalise('80:31544/TCP')).toBe('80:NODEPORT/TCP');
  });
});
