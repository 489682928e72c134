/**
 * Replaces `$(NAME)` by its variable; `$$` is a dollar sign, so `$$(NAME)` stays `$(NAME)`. What names no variable stays as it is.
 */
export function expand(text: string, variables: Pick<ReadonlyMap<string, string>, 'get'>): string {
  return text.replaceAll(/\$\$|\$\(([^)]*)\)/g, (all, name: string | undefined) => (name === undefined ? '$' : (variables.get(name) ?? all)));
}

/** Names that `$(NAME)` asks for and nothing answers. */
export function unresolved(text: string, variables: ReadonlyMap<string, string>): string[] {
  return [...text.matchAll(/\$\$|\$\(([^)]*)\)/g)].flatMap(([, name]) => (name === undefined || variables.has(name) ? [] : [name]));
}
