import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { findingCodes, probeErrorCodes } from '@roundsman/api';

const page = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
/** Codes in the first column of the table under a heading. */
const codesUnder = (heading: string): string[] =>
  [...(page.split(`## ${heading}\n`)[1] ?? '').split('\n## ')[0]!.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code]) => code!);

describe('docs/errors.md', () => {
  it('explains every error code, and no other', () => {
    expect(codesUnder('Why a request failed').sort()).toEqual([...probeErrorCodes].sort());
  });
  it('explains every finding code, and no other', () => {
    expect(codesUnder('What a round found').sort()).toEqual([...findingCodes].sort());
  });
});
