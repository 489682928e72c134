import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { UserError } from './user-error.ts';

/** Where Docker is, or why there is none, in words that say what to do (`off`: somebody wanted none). `silent`: pods of this home run there, and it does not answer now. */
export type Docker = { readonly socket: string; readonly silent?: string } | { readonly missing: string; readonly off?: true };

const usual = '/var/run/docker.sock';
const answerWithinMs = 5_000;
const notAllowed = 'this user may not use it';

/**
 * The Docker that pods run on: `--docker` (a socket, or `off`), else the one that the home had (`remembered`: its pods are there), else DOCKER_HOST, else
 * the usual socket. Throws when one that was asked for by name does not answer; a machine without any is fine.
 */
export async function findDocker(wanted: string | undefined, remembered: string | undefined, env: NodeJS.ProcessEnv = process.env): Promise<Docker> {
  if (wanted === 'off') return { missing: 'it was switched off (--docker off)', off: true };
  if (wanted === undefined && remembered !== undefined) {
    const problem = await problemOf(remembered);
    return problem === undefined ? { socket: remembered } : { socket: remembered, silent: `Docker does not answer at ${remembered} (${problem}): pods wait for it. --docker names another one, or off.` };
  }
  const named = wanted ?? (env['DOCKER_HOST'] || undefined);
  const socket = socketOf(named ?? usual);
  if (socket === undefined) {
    if (wanted !== undefined) throw new UserError(`--docker ${wanted}: only a socket on this machine can be used`, 'Give the path of the socket, such as /var/run/docker.sock, or off.');
    return { missing: `DOCKER_HOST is ${named}, and only a socket on this machine (unix://…) can be used` };
  }
  const problem = await problemOf(socket);
  if (problem === undefined) return { socket };
  if (wanted !== undefined) throw new UserError(`Docker does not answer at ${socket}: ${problem}`, 'Start it, or leave --docker out to go on without containers.');
  return { missing: `it does not answer at ${socket} (${problem}); ${problem === notAllowed ? 'add it to the group docker, or run as root' : 'install or start it (Debian, Ubuntu: apt-get install docker.io)'}, then start Roundsman again` };
}

function socketOf(name: string): string | undefined {
  if (name.startsWith('unix://')) return name.slice('unix://'.length);
  return name.startsWith('/') ? name : undefined;
}

/** What a person is told of it at the start; undefined when there is nothing to say. */
export function dockerNotice(docker: Docker, wanted: string | undefined, place: string): string | undefined {
  if ('socket' in docker) return docker.silent;
  return wanted === 'off' ? undefined : `No pods${place}: ${docker.missing}. Everything that needs no containers works.`;
}

/** What is remembered of it. */
export const dockerState = (docker: Docker): { readonly docker?: string; readonly dockerOff?: true } => ('socket' in docker ? { docker: docker.socket } : docker.off === true ? { dockerOff: true } : {});

/** Why the daemon behind this socket does not answer. */
function problemOf(socket: string): Promise<string | undefined> {
  if (!existsSync(socket)) return Promise.resolve('there is no such socket');
  return new Promise((resolve) => {
    const asked = request({ socketPath: socket, path: '/_ping', timeout: answerWithinMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? undefined : `it answers with HTTP ${response.statusCode}`);
    });
    asked.once('timeout', () => asked.destroy(new Error(`no answer within ${answerWithinMs / 1000} s`)));
    asked.once('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code === 'EACCES' ? notAllowed : message));
    asked.end();
  });
}
