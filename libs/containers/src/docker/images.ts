import type { ImageInspectInfo } from 'dockerode';
import { imageBuildLabel, RuntimeProblem, type ImageStatus, type RegistryCredentials } from '../pod-runtime.ts';
import { statusOf, type Daemon } from './daemon.ts';
import { jsonLines } from './json-lines.ts';

export async function imageStatus(daemon: Daemon, reference: string): Promise<ImageStatus | undefined> {
  try {
    const { Id, RepoDigests, Config, Size } = await daemon.ask('ImageNotFound', (docker, abortSignal) => docker.getImage(reference).inspect({ abortSignal } as object) as Promise<ImageInspectInfo>);
    return { id: Id, digest: RepoDigests?.[0] ?? Id, user: Config?.User ?? '', bytes: Size };
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

/** Throws RuntimeProblem `ImagePull` with the daemon's words, also for what goes wrong midway. */
export async function pullImage(daemon: Daemon, reference: string, signal?: AbortSignal, credentials?: RegistryCredentials): Promise<ImageStatus> {
  try {
    // The daemon may wait long for a registry before it says anything.
    const progress = await daemon.ask('ImagePull', (docker) => docker.createImage(credentials, { fromImage: withTag(reference), ...(signal === undefined ? {} : { abortSignal: signal }) }), 0);
    for await (const line of jsonLines(progress)) {
      const { error } = line as { error?: string };
      if (error !== undefined) throw new RuntimeProblem('ImagePull', error);
    }
  } catch (error) {
    if (signal?.aborted === true) throw new RuntimeProblem('ImagePull', `the pull of ${reference} was canceled`, { cause: error });
    throw daemon.problemOf('ImagePull', error);
  }
  const status = await imageStatus(daemon, reference);
  if (status === undefined) throw new RuntimeProblem('ImagePull', `${reference} was pulled and is not there`);
  return status;
}

/** See PodRuntime. The daemon itself refuses to remove what a container has. */
export async function removeOldBuilds(daemon: Daemon, kept: readonly string[]): Promise<string[]> {
  const filters = { label: [imageBuildLabel] };
  const images = await daemon.ask('ImageNotFound', (docker, abortSignal) => docker.listImages({ filters, abortSignal }));
  const old = images.flatMap(({ RepoTags, Labels }) => {
    const tags = (RepoTags ?? []).filter((tag) => tag.startsWith(`${Labels?.[imageBuildLabel]}:`));
    return tags.some((tag) => kept.includes(tag)) ? [] : tags;
  });
  const gone: string[] = [];
  for (const tag of old) {
    try {
      await daemon.ask('ImageNotFound', (docker, abortSignal) => docker.getImage(tag).remove({ abortSignal }));
      gone.push(tag);
    } catch (error) {
      // In use, or gone meanwhile.
      if (![404, 409].includes(statusOf(error) ?? 0)) throw error;
    }
  }
  return gone;
}

/** Without a tag the daemon would pull all there are. */
function withTag(reference: string): string {
  const name = reference.slice(reference.lastIndexOf('/') + 1);
  return name.includes(':') || name.includes('@') ? reference : `${reference}:latest`;
}
