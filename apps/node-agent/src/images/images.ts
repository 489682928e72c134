import type { Container, Pod } from '@roundsman/api';
import { RuntimeProblem, type ImageStatus, type PodRuntime, type RegistryCredentials } from '@roundsman/containers';
import { noMaterials, type Materials } from '../environment/materials.ts';
import type { PodEvents } from '../events/recorder.ts';
import { retryDelay } from '../pods/back-off.ts';
import { credentialsFor } from './credentials.ts';
import type { ImageArchives } from './image-archives.ts';
import { fullReference } from './reference.ts';

/** The image cannot be had now. `reason` is what the container waits with. */
export class ImageProblem extends Error {
  override readonly name = 'ImageProblem';
  constructor(
    readonly reason: 'ErrImagePull' | 'ImagePullBackOff' | 'ErrImageNeverPull' | 'InvalidImageName' | 'ImageInspectError',
    message: string,
    /** Milliseconds to wait before the next look. */
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** How long a failed pull is told as such before it counts as waiting; and how often what no pull can mend is looked at. */
const failureShownMs = 2_000;
const lookAgainMs = 10_000;

/** Sees to it that images are there, by their pull policy; one pull per image at a time, with a back-off per pod and image. */
export class Images {
  readonly #runtime: Pick<PodRuntime, 'image' | 'pull'>;
  readonly #events: PodEvents;
  readonly #archives: Pick<ImageArchives, 'load'> | undefined;
  readonly #pulls = new Map<string, Promise<ImageStatus>>();
  /** By pod uid and image. */
  readonly #failures = new Map<string, { count: number; retryAt: number; message: string }>();

  constructor(runtime: Pick<PodRuntime, 'image' | 'pull'>, events: PodEvents, archives?: Pick<ImageArchives, 'load'>) {
    this.#runtime = runtime;
    this.#events = events;
    this.#archives = archives;
  }

  /** Resolves with the image, pulled if need be. Throws ImageProblem; the runtime's own problems pass through. */
  async ensure(pod: Pod, container: Container, materials: () => Promise<Materials>): Promise<ImageStatus> {
    const image = container.image ?? '';
    const tell = (type: 'Normal' | 'Warning', reason: string, message: string): void => this.#events.record(pod, type, reason, message, container.name);
    const reference = this.#reference(image, tell);
    if (container.imagePullPolicy !== 'Always') {
      const present = (await this.#runtime.image(reference)) ?? (await this.#fromArchive(image, reference, tell));
      if (present !== undefined) {
        tell('Normal', 'Pulled', `Container image "${image}" already present on machine`);
        return present;
      }
      if (container.imagePullPolicy === 'Never') {
        const message = `Container image "${image}" is not present with pull policy of Never`;
        tell('Warning', 'ErrImageNeverPull', message);
        throw new ImageProblem('ErrImageNeverPull', message, lookAgainMs);
      }
    }
    return this.#pull(pod, image, reference, materials, tell);
  }

  /** Forgets the waits of a pod that is gone. */
  forget(podUid: string): void {
    for (const key of this.#failures.keys()) if (key.startsWith(`${podUid}_`)) this.#failures.delete(key);
  }

  #reference(image: string, tell: (type: 'Warning', reason: string, message: string) => void): string {
    try {
      return fullReference(image);
    } catch (error) {
      const message = `Failed to apply default image tag "${image}": ${(error as Error).message}`;
      tell('Warning', 'InspectFailed', message);
      throw new ImageProblem('InvalidImageName', message, lookAgainMs);
    }
  }

  async #fromArchive(image: string, reference: string, tell: (type: 'Warning', reason: string, message: string) => void): Promise<ImageStatus | undefined> {
    try {
      return (await this.#archives?.load(reference)) === true ? await this.#runtime.image(reference) : undefined;
    } catch (error) {
      if (error instanceof RuntimeProblem && error.code === 'Unavailable') throw error;
      const message = `cannot be loaded from its archive: ${(error as Error).message}`;
      tell('Warning', 'Failed', `Container image "${image}" ${message}`);
      throw new ImageProblem('ErrImagePull', message, lookAgainMs);
    }
  }

  async #pull(pod: Pod, image: string, reference: string, materials: () => Promise<Materials>, tell: (type: 'Normal' | 'Warning', reason: string, message: string) => void): Promise<ImageStatus> {
    const key = `${pod.metadata.uid}_${image}`;
    const failure = this.#failures.get(key);
    const now = Date.now();
    if (failure !== undefined && failure.retryAt > now) {
      tell('Normal', 'BackOff', `Back-off pulling image "${image}"`);
      throw new ImageProblem('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${failure.message}`, failure.retryAt - now);
    }
    const given = (pod.spec.imagePullSecrets ?? []).length === 0 ? noMaterials : await materials();
    tell('Normal', 'Pulling', `Pulling image "${image}"`);
    const started = performance.now();
    try {
      const pulled = await this.#tryAll(reference, credentialsFor(reference, pod, given));
      this.#failures.delete(key);
      const took = duration(performance.now() - started);
      tell('Normal', 'Pulled', `Successfully pulled image "${image}" in ${took} (${took} including waiting). Image size: ${pulled.bytes} bytes.`);
      return pulled;
    } catch (error) {
      if (error instanceof RuntimeProblem && error.code === 'Unavailable') throw error;
      const { message } = error as Error;
      tell('Warning', 'Failed', `Failed to pull image "${image}": ${message}`);
      const count = (failure?.count ?? 0) + 1;
      this.#failures.set(key, { count, retryAt: Date.now() + retryDelay(count), message });
      throw new ImageProblem('ErrImagePull', message, failureShownMs);
    }
  }

  /** With each of the credentials until one is taken; without any when there are none. */
  async #tryAll(reference: string, [first, ...others]: readonly RegistryCredentials[]): Promise<ImageStatus> {
    try {
      return await this.#shared(reference, first);
    } catch (error) {
      if (others.length === 0) throw error;
      return this.#tryAll(reference, others);
    }
  }

  #shared(reference: string, credentials: RegistryCredentials | undefined): Promise<ImageStatus> {
    // Nobody gets an image by what another may.
    const key = JSON.stringify([reference, credentials]);
    const running = this.#pulls.get(key);
    if (running !== undefined) return running;
    const pull = this.#runtime.pull(reference, undefined, credentials).finally(() => this.#pulls.delete(key));
    this.#pulls.set(key, pull);
    return pull;
  }
}

/** `1.204s`, `87ms`: as Go writes durations. */
const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)}ms` : `${Number((ms / 1000).toFixed(3))}s`);
