/** Where packets pass: a network namespace. `path` (`/proc/1234/ns/net`) is what nsenter takes; undefined: the agent's own. */
export interface NetworkNamespace {
  readonly path: string | undefined;
}

/** A program and its arguments as they run in a namespace. */
export const commandIn = ({ path }: NetworkNamespace, program: string, args: readonly string[]): readonly [program: string, args: readonly string[]] =>
  path === undefined ? [program, args] : ['nsenter', [`--net=${path}`, '--', program, ...args]];
