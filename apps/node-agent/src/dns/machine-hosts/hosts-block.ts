/** What a hosts file is told of one cluster lies between these lines; all others are somebody else's. */
const marks = (cluster: string): readonly [begin: string, end: string] => [`# BEGIN roundsman ${cluster}`, `# END roundsman ${cluster}`];

export interface HostLine {
  readonly address: string;
  readonly host: string;
}

/** A name that may stand in a hosts file; what has other characters would be another line. */
const plainHost = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
/** Names of the machine itself are not the cluster's to give away. */
const reserved = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);

/** The text of a hosts file with these hosts of the cluster and no others; without any it has no block at all. */
export function withBlock(text: string, cluster: string, hosts: readonly HostLine[]): string {
  const rest = withoutBlock(text, cluster);
  const lines = [...new Set(hosts.filter(({ host }) => plainHost.test(host) && !reserved.has(host)).map(({ address, host }) => `${address}\t${host}`))].sort();
  if (lines.length === 0) return rest;
  const [begin, end] = marks(cluster);
  return `${rest}${rest === '' || rest.endsWith('\n') ? '' : '\n'}${[begin, ...lines, end].join('\n')}\n`;
}

/** A block without its end (somebody has edited it) is left as it is, but for its first line. */
function withoutBlock(text: string, cluster: string): string {
  const [begin, end] = marks(cluster);
  const lines = text.split('\n');
  for (let from = lines.indexOf(begin); from >= 0; from = lines.indexOf(begin)) {
    const to = lines.indexOf(end, from);
    lines.splice(from, to < 0 ? 1 : to - from + 1);
  }
  return lines.join('\n');
}
