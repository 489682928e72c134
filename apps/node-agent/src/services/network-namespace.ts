import { stat } from 'node:fs/promises';

/** Where packets pass: a network namespace. `path` (`/proc/1234/ns/net`) is what nsenter takes; undefined: the agent's own. */
export interface NetworkNamespace {
  readonly path: string | undefined;
}

/** The agent's own. */
export const machineNamespace: NetworkNamespace = { path: undefined };

/** A program and its arguments as they run in a namespace. */
export const commandIn = ({ path }: NetworkNamespace, program: string, args: readonly string[]): readonly [program: string, args: readonly string[]] =>
  path === undefined ? [program, args] : ['nsenter', [`--net=${path}`, '--', program, ...args]];

/** Programs of administrators are not on everybody's PATH. What they say is read (nft.ts), so they say it in English. */
export const environment = (): NodeJS.ProcessEnv => ({ ...process.env, LC_ALL: 'C', PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` });

/** `net:[4026531840]`: which namespace it is, by whatever path. Rejects when there is none (any more). The kernel gives the number of one that is gone to the next one at once. */
export const identityOf = async ({ path }: NetworkNamespace): Promise<string> => `net:[${(await stat(path ?? '/proc/self/ns/net')).ino}]`;
