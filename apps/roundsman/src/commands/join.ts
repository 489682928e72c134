import { Home } from '../home.ts';
import { writeHosts } from '../hosts-file.ts';
import { joinCluster, machineName, membershipOf } from '../join/membership.ts';
import { stay } from '../stay.ts';
import { UserError } from '../user-error.ts';

export interface JoinOptions {
  readonly token?: string;
  readonly name?: string;
  readonly docker?: string;
  readonly writeHosts?: boolean;
  readonly detach?: boolean;
}

/** Makes this machine a node of the cluster at `at` (`host:port`), and stays one. Without `at`, of the one it joined before. */
export async function join(at: string | undefined, { token, name, docker, detach, writeHosts: wantsHosts }: JoinOptions): Promise<void> {
  if (wantsHosts === true) writeHosts();
  const home = new Home();
  home.create();
  if (home.state() !== undefined && home.state()?.memberOf === undefined) throw new UserError(`${home.path} is the home of a cluster of its own`, 'Set ROUNDSMAN_HOME to another folder to join with this machine.');
  const before = membershipOf(home);
  if (at === undefined && before === undefined) throw new UserError('which cluster?', 'npx roundsman token prints the whole command, on the machine where the cluster was started.', { exitCode: 2 });
  if (at !== undefined && token === undefined && before?.at !== at) throw new UserError('a token is needed to join', 'npx roundsman token prints the whole command, on the machine where the cluster was started.', { exitCode: 2 });
  if (before !== undefined && name !== undefined && name !== before.node) throw new UserError(`this machine is node ${before.node} already`, `To join under another name: npx roundsman down --purge here, and npx roundsman forget ${before.node} on the cluster.`);
  const membership = at !== undefined && token !== undefined ? await joinCluster(home, at, token, name ?? before?.node ?? machineName()) : before!;
  await stay(home, {
    detach: detach === true,
    command: ['join', '--detach', ...(docker === undefined ? [] : ['--docker', docker])],
    make: async (say, onFatal) => {
      const { Member } = await import('../join/member.ts');
      return new Member({ home, membership, docker, say, onFatal });
    },
  });
}
