import { join } from 'node:path';
import type { ContainerSpec } from '@roundsman/containers';
import { runnerNameOf, type Settings } from '../settings.ts';
import type { Kept } from './kept-process.ts';

/** The probe-runner of the default runtime; undefined: none is kept here. */
export function keptRunner(settings: Settings): Kept | undefined {
  if (settings.runnerEntry === '') return undefined;
  return { spec: runnerSpec('runner', settings), name: runnerNameOf(settings), what: 'the runner', condition: { type: 'RunnerRunning', running: 'RunnerIsRunning', ended: 'RunnerEnded', message: 'the probe-runner of the default runtime runs' } };
}

/** How the runner's process is started: everything it needs comes in its environment. */
function runnerSpec(id: string, settings: Settings): ContainerSpec {
  const { node, runtime, natsUrl, natsCaFile, addresses, dataDir, runnerEntry, runnerFlags, runnerSeedFile, runnerLogLevel, runnerCapacityQps, deny, denyEndpoints, allow } = settings;
  const name = runnerNameOf(settings);
  const optional = {
    ROUNDSMAN_NATS_SEED_FILE: runnerSeedFile,
    ROUNDSMAN_NATS_CA_FILE: natsCaFile,
    ROUNDSMAN_RUNNER_CAPACITY_QPS: runnerCapacityQps?.toString(),
    ROUNDSMAN_RUNNER_DENY: deny || undefined,
    ROUNDSMAN_RUNNER_DENY_ENDPOINTS: denyEndpoints || undefined,
    ROUNDSMAN_RUNNER_ALLOW: allow || undefined,
  };
  return {
    id,
    labels: { 'roundsman.io/node': node, 'roundsman.io/runtime': runtime, 'roundsman.io/runner': name },
    command: [process.execPath, ...runnerFlags, runnerEntry],
    env: {
      ROUNDSMAN_NATS_URL: natsUrl,
      ROUNDSMAN_RUNNER_NAME: name,
      ROUNDSMAN_NODE: node,
      ROUNDSMAN_RUNTIME: runtime,
      ROUNDSMAN_DATA_DIR: join(dataDir, 'runner'),
      ROUNDSMAN_BIND_ADDRESSES: addresses.join(','),
      ROUNDSMAN_LOG_LEVEL: runnerLogLevel,
      ...Object.fromEntries(Object.entries(optional).filter((entry): entry is [string, string] => entry[1] !== undefined)),
    },
    restart: { when: 'always' },
  };
}
