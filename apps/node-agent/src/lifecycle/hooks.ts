import type { Container, LifecycleHandler, Pod } from '@roundsman/api';
import type { PodRuntime } from '@roundsman/containers';
import { runCommand } from '../probes/exec.ts';
import { requestHttp } from '../probes/http.ts';

/** A hook that did not succeed; `message` is the kubelet's. */
export class HookProblem extends Error {
  override readonly name = 'HookProblem';
}

export interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly id: string;
  readonly podIP: string;
}

/** Runs a postStart or preStop hook to its end. Throws HookProblem; `signal` gives it up. */
export async function runHook(runtime: Pick<PodRuntime, 'exec'>, { pod, container, id, podIP }: HookTarget, hook: LifecycleHandler, signal: AbortSignal): Promise<void> {
  const where = `for Container "${container.name}" in Pod "${pod.metadata.name}_${pod.metadata.namespace}(${pod.metadata.uid})" failed - error: `;
  if (hook.exec !== undefined) {
    const command = hook.exec.command ?? [];
    const what = `Exec lifecycle hook ([${command.join(' ')}]) ${where}`;
    const { exitCode, output } = await runCommand(runtime, id, command, signal).catch((error: Error) => {
      throw new HookProblem(`${what}${error.message}, message: ""`, { cause: error });
    });
    if (exitCode !== 0) throw new HookProblem(`${what}command '${command.join(' ')}' exited with ${exitCode}: ${output}, message: ${JSON.stringify(output)}`);
  } else if (hook.httpGet !== undefined) {
    const { path = '/' } = hook.httpGet;
    const answer = await requestHttp(hook.httpGet, container, podIP, signal);
    if ('problem' in answer) throw new HookProblem(`HTTP lifecycle hook (${path}) ${where}${answer.problem}`);
  } else if (hook.sleep !== undefined) {
    await sleep(hook.sleep.seconds * 1000, signal);
  }
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
    if (signal.aborted) done();
  });
}
