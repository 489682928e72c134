/** Letters and digits from which Kubernetes makes the endings of generated names, and hashes. Some have no digit. */
const random = '[bcdfghjklmnpqrstvwxz2456789]';
/** As kubectl writes how long something is ago: two units at most. */
const duration = '\\d+[smhdy](?:\\d+[smhd])?';

/** In this order: what is random as a whole is gone before a part of it can be taken for something else. */
const rules: readonly (readonly [RegExp, string])[] = [
  // What prints differences of Go structs puts them in by chance.
  [/\u00a0/g, ' '],
  [/^([A-Z])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ /gm, '$1LOGGED '],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  // The names of events end in something that never comes twice.
  [/\b(once)\.[0-9a-f]{16}\b/g, '$1.UNIQUE'],
  [/kubectl-edit-\d+/g, 'kubectl-edit-N'],
  [/\/tmp\/(?:LIVE|MERGED)-\d+/g, 'DIFF'],
  [/^(diff -u -N |--- |\+\+\+ ).*$/gm, '$1FILES'],
  [/\(0x[0-9a-f]+\)/g, '(POINTER)'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/(resourceVersion(?:\\")?: ?\\?")\d+/g, '$1N'],
  [new RegExp(`\\b((?:gen|filed|everywhere|ordered|applied|cmd|duo|exposed)-)${random}{5,10}(-${random}{5})?\\b`, 'g'), '$1HASH'],
  [new RegExp(`\\b((?:once|now|web|exposed|plain)-)${random}{5}\\b`, 'g'), '$1HASH'],
  [new RegExp(`(hash["=: ]+"?)${random}{1,10}\\b`, 'g'), '$1HASH'],
  [new RegExp(`\\b(Pod "A_|Invalid value: "A_)${random}{5}\\b`, 'g'), '$1HASH'],
  // Addresses and ports that the server chose; those that the script asks for lie below.
  [/\b10\.96\.(?!0\.)\d+\.\d+\b/g, 'CLUSTERIP'],
  [/(?<=\d:|nodePort"?: ?)(?!300[0-7]\d|3008[0-5])3[0-2]\d{3}\b/g, 'NODEPORT'],
  [new RegExp(` \\(x\\d+ over ${duration}\\)`, 'g'), ''],
  // When a container was started again.
  [new RegExp(`\\(${duration} ago\\)`, 'g'), '(AGE ago)'],
  // Columns stand where the widest cell puts them.
  [/[ \t]{2,}/g, '  '],
  // Ages and durations: cells of a table.
  [new RegExp(`(?<=^|  )(?:<invalid>|${duration})(?=  | *$)`, 'g'), 'AGE'],
  [/[ \t]+$/gm, ''],
  [/-{4,}/g, '----'],
];

/** What kubectl does at once, or takes from a map, and tells in any order: also after what has come of the first ones. */
const concurrent: readonly RegExp[] = [/^evicting pod /, /^Warning: key /];

/** Text without what is different in every run: identities, versions, times, random endings, the width of columns, the order of what is told at once. */
export function normalise(text: string): string {
  // Indentation means something in YAML: only what follows the first word of a line is squeezed.
  const lines = text
    .split('\n')
    .map((line) => {
      const indent = /^ */.exec(line)?.[0] ?? '';
      return indent + rules.reduce((rest, [pattern, by]) => rest.replace(pattern, by), line.slice(indent.length));
    })
    // How often the same event has been told by now is chance.
    .filter((line, index, all) => !(/(^|  )AGE  /.test(line) && line === all[index - 1]));
  return concurrent.reduce(together, lines).join('\n');
}

/** The lines that match, sorted, where the first of them stood. */
function together(lines: readonly string[], pattern: RegExp): string[] {
  const first = lines.findIndex((line) => pattern.test(line));
  const others = lines.filter((line) => !pattern.test(line));
  return first < 0 ? others : others.toSpliced(first, 0, ...lines.filter((line) => pattern.test(line)).sort());
}
