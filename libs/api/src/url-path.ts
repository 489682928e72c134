/**
 * The path of a request target in the one form that rules are compared in: dot segments resolved, what need not be percent-encoded decoded (RFC 3986, 6.2.2), so that no
 * other spelling of a path gets around its rule. Undefined for what is no path: another form of target, or percent signs that encode nothing.
 */
export function canonicalPath(target: string): string | undefined {
  const end = target.search(/[?#]/);
  const path = (end === -1 ? target : target.slice(0, end)).toWellFormed();
  if (!path.startsWith('/')) return undefined;
  if (!/[%\\]|\/\.|[^\x21-\x7e]/.test(path)) return path;
  if (/%(?![0-9a-f]{2})/i.test(path)) return undefined;
  const decoded = path.replaceAll(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCodePoint(Number.parseInt(code.slice(1), 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : code.toUpperCase();
  });
  return withoutDots(decoded.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent));
}

/** RFC 3986, 5.2.4. Empty segments stay: they are elements of their own. */
function withoutDots(path: string): string {
  const segments = path.slice(1).split('/');
  const kept: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const last = index === segments.length - 1;
    if (segment === '..') kept.pop();
    if (segment !== '.' && segment !== '..') kept.push(segment);
    else if (last) kept.push('');
  }
  return `/${kept.join('/')}`;
}
