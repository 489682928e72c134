/** Letters and digits from which Kubernetes makes the endings of generated names. */
const random = '[bcdfghjklmnpqrstvwxz2456789]';

const rules: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/(resourceVersion: )"\d+"/g, '$1"N"'],
  [new RegExp(`\\b((?:gen|filed|everywhere|ordered)-)${random}{5,10}(-${random}{5})?\\b`, 'g'), '$1HASH'],
  [new RegExp(`\\b((?:once|now)-)${random}{5}\\b`, 'g'), '$1HASH'],
  [new RegExp(`(hash["=: ]+"?)(?=[a-z0-9]*\\d)[a-z0-9]{6,10}`, 'g'), '$1HASH'],
  [/ \(x\d+ over [^)]+\)/g, ''],
  [/\/tmp\/(?:LIVE|MERGED)-\d+/g, 'DIFF'],
  [/^(diff -u -N |--- |\+\+\+ ).*$/gm, '$1FILES'],
  [/\(0x[0-9a-f]{8,}\)/g, '(POINTER)'],
  // Columns stand where the widest cell puts them.
  [/[ \t]{2,}/g, '  '],
  // Ages and durations: cells of a table.
  [/(?<=^|  )(?:<invalid>|\d+[smhd](?:\d+[smh])?)(?=  | *$)/g, 'AGE'],
  [/[ \t]+$/gm, ''],
  [/-{4,}/g, '----'],
];

/** Text without what is different in every run: identities, versions, times, random endings, the width of columns. */
export function normalise(text: string): string {
  // Indentation means something in YAML: only what follows the first word of a line is squeezed.
  return text
    .split('\n')
    .map((line) => {
      const indent = /^ */.exec(line)?.[0] ?? '';
      return indent + rules.reduce((rest, [pattern, by]) => rest.replace(pattern, by), line.slice(indent.length));
    })
    // How often the same event has been told by now is chance.
    .filter((line, index, lines) => !(line.includes('  AGE  ') && line === lines[index - 1]))
    .join('\n');
}
