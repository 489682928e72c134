/** What is in a resolv.conf. */
export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  /** `ndots:5`, `rotate`. */
  readonly options: readonly string[];
}

/** The last search line counts, and of each option the last. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...rest] = line.replace(/[#;].*$/, '').trim().split(/\s+/);
    if (word === 'nameserver' && rest[0] !== undefined) servers.push(rest[0]);
    else if (word === 'search' || word === 'domain') searches = rest.flatMap((domain) => (domain === '.' ? [] : domain.replace(/\.$/, '')));
    else if (word === 'options') options = [...options, ...rest];
  }
  return { servers, searches, options: [...new Map(options.map((option) => [nameOfOption(option), option])).values()] };
}

export const nameOfOption = (option: string): string => option.split(':')[0] ?? option;

export function formatResolvConf({ servers, searches, options }: ResolvConf): string {
  const lines = [...(searches.length === 0 ? [] : [`search ${searches.join(' ')}`]), ...servers.map((server) => `nameserver ${server}`), ...(options.length === 0 ? [] : [`options ${options.join(' ')}`])];
  return lines.map((line) => `${line}\n`).join('');
}
