import { parseQuantity, quantityMillis, type Container, type Pod } from '@roundsman/api';
import type { ContainerConfig, ImageStatus, Mount } from '@roundsman/containers';
import { expand } from '../environment/expansion.ts';
import { annotationKeys } from './run.ts';
import { securityOf } from './security.ts';
import { specHash } from './spec-hash.ts';

export interface RunSettings {
  readonly sandboxId: string;
  readonly sandboxRun: string;
  readonly attempt: number;
  readonly backOffMs: number;
  readonly image: ImageStatus;
  readonly variables: ReadonlyMap<string, string>;
  readonly mounts: readonly Mount[];
}

/** One run of a container as the runtime is asked for it. Throws ConfigProblem. */
export function containerConfig(pod: Pod, container: Container, run: RunSettings): ContainerConfig {
  const { metadata, spec } = pod;
  const expanded = (texts: readonly string[] | undefined): string[] | undefined => (texts === undefined || texts.length === 0 ? undefined : texts.map((text) => expand(text, run.variables)));
  const command = expanded(container.command);
  const args = expanded(container.args);
  return {
    podUid: metadata.uid,
    namespace: metadata.namespace ?? '',
    podName: metadata.name,
    sandboxId: run.sandboxId,
    name: container.name,
    attempt: run.attempt,
    image: container.image ?? '',
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    env: [...run.variables],
    ...(container.workingDir === undefined || container.workingDir === '' ? {} : { workingDir: container.workingDir }),
    mounts: run.mounts,
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    resources: resourcesOf(container),
    security: securityOf(pod, container, run.image),
    annotations: {
      [annotationKeys.specHash]: specHash(container),
      [annotationKeys.backOffMs]: String(run.backOffMs),
      [annotationKeys.sandboxRun]: run.sandboxRun,
      [annotationKeys.imageDigest]: run.image.digest,
      [annotationKeys.graceSeconds]: String(spec.terminationGracePeriodSeconds),
    },
  };
}

/** Of a limit alone the request is the limit, as in Kubernetes. */
function resourcesOf({ resources }: Container): ContainerConfig['resources'] {
  const { limits = {}, requests = {} } = resources ?? {};
  const cpuRequest = requests['cpu'] ?? limits['cpu'];
  return {
    ...(limits['cpu'] === undefined ? {} : { cpuLimitMillis: quantityMillis(limits['cpu']) }),
    ...(cpuRequest === undefined ? {} : { cpuRequestMillis: quantityMillis(cpuRequest) }),
    ...(limits['memory'] === undefined ? {} : { memoryLimitBytes: Math.floor(parseQuantity(limits['memory'])) }),
  };
}
