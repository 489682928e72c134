import { runnerResources, type AgentSpec, type Round, type Runtime } from '@roundsman/api';
import type { RunnerEnd, RunnerEnds } from '@roundsman/reports';

/** The runners in pods of whose containers one ended since then, and how: out of memory, by a signal, by itself. `taskSpec`: of the task whose round it was, where it is known. */
export function containerEndsSince(runtimes: readonly Runtime[], ms: number, taskSpec: Round['spec']['taskSpec'] | undefined): Map<string, RunnerEnd> {
  const ends = new Map<string, RunnerEnd>();
  // Kubernetes' times are whole seconds.
  const sinceMs = Math.floor(ms / 1_000) * 1_000;
  for (const { status } of runtimes) {
    for (const { runner, ended } of status?.runners ?? []) {
      if (ended === undefined || Date.parse(ended.at) < sinceMs) continue;
      ends.set(runner, { at: new Date(ended.at), words: `its container ended at ${ended.at} with ${ended.reason}${ended.reason.includes('OOMKilled') && taskSpec !== undefined ? `; ${moreMemory(taskSpec)}` : ''}` });
    }
  }
  return ends;
}

function moreMemory(taskSpec: Round['spec']['taskSpec']): string {
  const { agentSpec } = taskSpec as { agentSpec?: AgentSpec };
  const limit = runnerResources(agentSpec?.resources).limits['memory'];
  return agentSpec === undefined ? `give the task an agentSpec with a resources.limits.memory above ${limit}` : `raise agentSpec.resources.limits.memory (now ${limit})`;
}

/** What processes and containers of runners tell, as one: the time of the first end, and of what its container is known to have ended, which says more than that it did. */
export function allEnds(processes: RunnerEnds, containers: RunnerEnds): RunnerEnds {
  const ends = new Map(processes);
  for (const [runner, end] of containers) {
    const heard = processes.get(runner)?.at ?? end.at;
    ends.set(runner, { at: heard < end.at ? heard : end.at, words: end.words });
  }
  return ends;
}
