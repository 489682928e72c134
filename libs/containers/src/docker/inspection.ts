import type { ContainerInfo, ContainerInspectInfo } from 'dockerode';
import type { PodContainer, Sandbox, SandboxNetwork } from '../pod-runtime.ts';
import { networkOf, readLabels } from './names.ts';

/** The daemon's way to say never. */
const never = '0001-01-01T00:00:00Z';

/** What the daemon knows of one run of a container, as the port tells it. */
export function podContainer({ Id, Config, Image, Created, State }: ContainerInspectInfo): PodContainer {
  const { podUid, container, attempt, annotations } = readLabels(Config.Labels);
  const words = State.Error.trim();
  // One that could not be started stays "created", with the daemon's words and an exit code.
  const state = State.Running || State.Restarting || State.Paused ? 'running' : State.Status === 'created' && words === '' ? 'created' : 'exited';
  // Of one that ended at once the daemon may note the end before the start.
  const finishedAt = State.FinishedAt === never ? Created : Date.parse(State.FinishedAt) < Date.parse(State.StartedAt) ? State.StartedAt : State.FinishedAt;
  return {
    id: Id,
    podUid,
    name: container ?? '',
    attempt,
    state,
    image: Config.Image,
    imageId: Image,
    ...(state === 'running' ? { pid: State.Pid } : {}),
    createdAt: Created,
    ...(State.StartedAt === never ? {} : { startedAt: State.StartedAt }),
    ...(state === 'exited' ? { finishedAt, exitCode: State.ExitCode } : {}),
    oomKilled: State.OOMKilled,
    ...(words === '' ? {} : { problem: words }),
    annotations,
  };
}

type Networks = Readonly<Record<string, { readonly IPAddress?: string; readonly GlobalIPv6Address?: string }>> | undefined;

/** Those that it was made with; of one that an earlier release made what the daemon has given it. */
function addressesOf(network: SandboxNetwork | undefined, networks: Networks): readonly string[] {
  if (network === undefined) return given(networks);
  return 'addresses' in network ? network.addresses : [];
}

const given = (networks: Networks): string[] =>
  Object.values(networks ?? {}).flatMap(({ IPAddress, GlobalIPv6Address }) => [IPAddress, GlobalIPv6Address].filter((address): address is string => address !== undefined && address !== ''));

export const sandboxInspected = ({ Id, Config, Created, State, NetworkSettings }: ContainerInspectInfo): Sandbox => ({
  id: Id,
  podUid: readLabels(Config.Labels).podUid,
  running: State.Running,
  createdAt: Created,
  ...(State.Running ? { pid: State.Pid } : {}),
  network: networkOf(Config.Labels),
  addresses: addressesOf(networkOf(Config.Labels), NetworkSettings.Networks),
});

export const sandboxListed = ({ Id, Labels, Created, State, NetworkSettings }: ContainerInfo): Sandbox => ({
  id: Id,
  podUid: readLabels(Labels).podUid,
  running: State === 'running',
  createdAt: new Date(Created * 1000).toISOString(),
  network: networkOf(Labels),
  addresses: addressesOf(networkOf(Labels), NetworkSettings?.Networks),
});
