import type { ContainerCreateOptions, HostConfig } from 'dockerode';
import type { ContainerConfig, Mount, SandboxSpec, Owner } from '../pod-runtime.ts';
import { containerLabels } from './names.ts';

/** What the containers of a pod share beside its network. */
export type SandboxModes = Pick<SandboxSpec, 'hostPID' | 'hostIPC' | 'shareProcessNamespace'>;

const cfsPeriodUs = 100_000;

/** What the daemon is asked for one run of a container. */
export function containerConfig(owner: Owner, config: ContainerConfig, modes: SandboxModes): ContainerCreateOptions {
  const { image, command, args, env, workingDir, sandboxId, stdin, stdinOnce, tty, security } = config;
  const sandbox = `container:${sandboxId}`;
  return {
    Image: image,
    Labels: containerLabels(owner, config),
    // As in Kubernetes: a command alone takes the image's CMD away too. The daemon does the same with an entrypoint.
    ...(command === undefined || command.length === 0 ? {} : { Entrypoint: [...command] }),
    ...(args === undefined || args.length === 0 ? {} : { Cmd: [...args] }),
    Env: env.map(([name, value]) => `${name}=${value}`),
    ...(workingDir === undefined ? {} : { WorkingDir: workingDir }),
    ...(security.user === undefined ? {} : { User: security.user }),
    OpenStdin: stdin,
    StdinOnce: stdin && stdinOnce,
    Tty: tty,
    HostConfig: {
      NetworkMode: sandbox,
      IpcMode: modes.hostIPC ? 'host' : sandbox,
      PidMode: modes.hostPID ? 'host' : modes.shareProcessNamespace ? sandbox : '',
      Mounts: config.mounts.map(bind),
      GroupAdd: security.supplementalGroups.map(String),
      Privileged: security.privileged,
      CapAdd: [...security.addCapabilities],
      CapDrop: [...security.dropCapabilities],
      ReadonlyRootfs: security.readOnlyRootFilesystem,
      SecurityOpt: security.noNewPrivileges ? ['no-new-privileges'] : [],
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '2' } },
      ...limits(config.resources),
    },
  };
}

/** Quota and not NanoCpus: the daemon refuses more NanoCpus than there are cores, Kubernetes does not. Swap is never added to memory. */
function limits({ cpuLimitMillis, cpuRequestMillis, memoryLimitBytes }: ContainerConfig['resources']): Partial<HostConfig> {
  return {
    // Kubernetes' conversion: 1024 shares for a core, 2 at least.
    CpuShares: Math.max(2, Math.floor(((cpuRequestMillis ?? 0) * 1024) / 1000)),
    ...(cpuLimitMillis === undefined ? {} : { CpuPeriod: cfsPeriodUs, CpuQuota: Math.max(1_000, Math.round((cpuLimitMillis * cfsPeriodUs) / 1000)) }),
    ...(memoryLimitBytes === undefined ? {} : { Memory: memoryLimitBytes, MemorySwap: memoryLimitBytes }),
  };
}

/** A mount of this form is refused when the source is not there; `Binds` would make a folder. */
type MountSettings = NonNullable<HostConfig['Mounts']>[number];
const bind = ({ hostPath, containerPath, readOnly, propagation }: Mount): MountSettings => ({
  Type: 'bind',
  Source: hostPath,
  Target: containerPath,
  ReadOnly: readOnly,
  // From Docker 25 on read-only would hold for all mounts below too; in Kubernetes it does not.
  // Without one Docker takes rprivate, and rslave for what holds its own data (/, /var): rprivate it refuses there.
  BindOptions: { ...(propagation === undefined ? {} : { Propagation: propagation }), ...(readOnly ? { ReadOnlyNonRecursive: true } : {}) } as MountSettings['BindOptions'],
});
