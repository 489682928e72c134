/**
 * Where a text stops being JSON: the offset of the first character that cannot stand there (its length when it ends too
 * early). Only for texts that JSON.parse refused: it does not say where in all cases.
 */
export function jsonErrorOffset(text: string): number {
  const blank = /[ \t\n\r]*/y;
  // oxlint-disable-next-line no-control-regex -- JSON forbids them in strings, so they must be told apart
  const scalar = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
  const open: ('{' | '[')[] = [];
  let at = 0;
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.test(text);
    if (found) at = pattern.lastIndex;
    return found;
  };
  const is = (character: string): boolean => {
    if (text[at] !== character) return false;
    at += 1;
    return true;
  };
  /** What may come: a value, a value or the end of an empty list, a key, a key or the end of an empty object, or what follows a value. */
  let expected: 'value' | 'item' | 'key' | 'member' | 'after' = 'value';
  for (;;) {
    skip(blank);
    if (at >= text.length) return text.length;
    if (expected === 'after') {
      const inside = open.at(-1);
      if (inside === undefined) return at;
      if (is(',')) expected = inside === '{' ? 'key' : 'value';
      else if (is(inside === '{' ? '}' : ']')) open.pop();
      else return at;
    } else if ((expected === 'item' && is(']')) || (expected === 'member' && is('}'))) {
      open.pop();
      expected = 'after';
    } else if (expected === 'key' || expected === 'member') {
      if (text[at] !== '"' || !skip(scalar)) return firstBad(text, at);
      skip(blank);
      if (!is(':')) return at;
      expected = 'value';
    } else if (is('{')) {
      open.push('{');
      expected = 'member';
    } else if (is('[')) {
      open.push('[');
      expected = 'item';
    } else if (skip(scalar)) expected = 'after';
    else return firstBad(text, at);
  }
}

/** Inside a broken string: its first character that may not stand in one. */
function firstBad(text: string, start: number): number {
  if (text[start] !== '"') return start;
  // oxlint-disable-next-line no-control-regex -- JSON forbids them in strings, so they must be told apart
  const good = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*/y;
  good.lastIndex = start;
  return good.test(text) ? good.lastIndex : start;
}
