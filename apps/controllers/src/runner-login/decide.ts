import { timingSafeEqual } from 'node:crypto';
import { tokenHashOf, type Runtime } from '@roundsman/api';
import { runnerIdentity, type Decision, type Login } from '@roundsman/bus';

/**
 * Whether a runner in a pod may in: its token must be that of a runtime, and it one of the runners that this runtime has by its pods.
 * It gets the rights of this one runner on the node where its pod is, whatever else it says of itself; in a runtime of one task, to send results of that task only.
 */
export function decideLogin({ user, password }: Pick<Login, 'user' | 'password'>, runtimes: Iterable<Runtime>): Decision {
  if (user === '' || password === '') return { refused: 'it has no nkey that is known, and names no runner with a token' };
  const hash = Buffer.from(tokenHashOf(password));
  let runtime: Runtime | undefined;
  for (const one of runtimes) {
    const own = Buffer.from(one.spec.tokenHash ?? '');
    if (own.length === hash.length && timingSafeEqual(own, hash)) runtime = one;
  }
  if (runtime === undefined) return { refused: 'its token is of no runtime that there is' };
  const name = `${runtime.metadata.namespace}/${runtime.metadata.name}`;
  const runner = runtime.status?.runners.find((one) => one.runner === user);
  // Both come right by themselves when the pod is just being made: the runner tries again.
  if (runner === undefined) return { refused: `it is none of the runners that runtime ${name} has so far` };
  if (runner.node === '') return { refused: `its pod in runtime ${name} is on no node so far` };
  const { task } = runtime.spec;
  return { identity: runnerIdentity(runner.runner, runner.node, task && { kind: task.kind, uid: task.uid }) };
}
