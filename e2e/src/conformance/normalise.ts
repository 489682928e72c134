/** Letters and digits from which Kubernetes makes the endings of generated names. */
const random = '[bcdfghjklmnpqrstvwxz2456789]';

const rules: readonly (readonly [RegExp, string])[] = [
  // First: the number of a process may be one that a node port may have.
  [/^([A-Z])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ /gm, '$1LOGGED '],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME'],
  [/(resourceVersion: )"\d+"/g, '$1"N"'],
  [new RegExp(`\\b((?:gen|filed|everywhere|ordered|applied|cmd|duo|exposed)-)${random}{5,10}(-${random}{5})?\\b`, 'g'), '$1HASH'],
  [new RegExp(`\\b((?:once|now|web|exposed|plain)-)${random}{5}\\b`, 'g'), '$1HASH'],
  [new RegExp(`(hash["=: ]+"?)(?=[a-z0-9]*\\d)[a-z0-9]{6,10}`, 'g'), '$1HASH'],
  // Addresses and ports that the server chose; those that the script asks for lie below.
  [/\b10\.96\.(?!0\.)\d+\.\d+\b/g, 'CLUSTERIP'],
  [/(?<![-\d])(?!300[0-7]\d|3008[0-5])3[0-2]\d{3}(?=\/(?:TCP|UDP)|$|[\s,}])/g, 'NODEPORT'],
  [/ \(x\d+ over [^)]+\)/g, ''],
  [/kubectl-edit-\d+/g, 'kubectl-edit-N'],
  // The names of events end in something that never comes twice.
  [/\b(once)\.[0-9a-f]{16}\b/g, '$1.UNIQUE'],
  [/\b(Pod "A_)\w{5}|\b(Invalid value: "A_)\w{5}/g, '$1$2HASH'],
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
    .filter((line, index, lines) => !(/(^|  )AGE  /.test(line) && line === lines[index - 1]))
    .map((line, index, lines) => (concurrent.test(line) ? inOrder(lines, index) : line))
    .join('\n');
}

/** What kubectl does at once, or takes from a map, and tells in any order. */
const concurrent = /^(evicting pod|Warning: key) /;

/** The line that stands at `index` when its run of such lines is sorted. */
function inOrder(lines: readonly string[], index: number): string {
  let [first, next] = [index, index];
  while (concurrent.test(lines[first - 1] ?? '')) first--;
  while (concurrent.test(lines[next] ?? '')) next++;
  return lines.slice(first, next).sort()[index - first] as string;
}
