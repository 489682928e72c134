import { randomUUID } from 'node:crypto';
import type { ContainerConfig, SandboxSpec } from '../../pod-runtime.ts';

/** A sandbox as a plain pod asks for it. */
export const sandboxOf = (more: Partial<SandboxSpec> = {}): SandboxSpec => ({
  podUid: randomUUID(),
  namespace: 'default',
  podName: 'web',
  hostname: 'web',
  network: { kind: 'none', addresses: [] },
  hostPID: false,
  hostIPC: false,
  shareProcessNamespace: false,
  ports: [],
  extraHosts: [],
  sysctls: {},
  ...more,
});

export const unprivileged: ContainerConfig['security'] = {
  supplementalGroups: [],
  privileged: false,
  addCapabilities: [],
  dropCapabilities: [],
  readOnlyRootFilesystem: false,
  noNewPrivileges: false,
};

/** The first run of a container `main` of busybox. */
export const containerOf = ({ podUid, namespace, podName }: SandboxSpec, sandboxId: string, script: string, more: Partial<ContainerConfig> = {}): ContainerConfig => ({
  podUid,
  namespace,
  podName,
  sandboxId,
  name: 'main',
  attempt: 0,
  image: 'busybox:1.35',
  command: ['sh', '-c', script],
  env: [],
  mounts: [],
  stdin: false,
  stdinOnce: false,
  tty: false,
  resources: {},
  security: unprivileged,
  annotations: {},
  ...more,
});

/** Runs until it is told to end. */
export const forEver = 'trap "exit 0" TERM; while :; do sleep 1000 & wait; done';
