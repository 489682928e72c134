import { createHash } from 'node:crypto';
import type { KubeObject } from '@roundsman/api';
import { ClusterError, resources, type Cluster, type ClusterResource } from '@roundsman/cluster';
import type { Logger } from 'pino';
import type { Manifest } from '../manifests/facts.ts';
import { installationLabel } from '../manifests/labels.ts';
import { covers } from './covers.ts';
import type { RuntimeView } from './runtime-view.ts';

/** On what is made: a hash of what was said last, so that what is not said any more is taken away. */
export const manifestAnnotation = 'roundsman.io/manifest';
/** So long an answer counts though the view does not have the object: news takes a moment. */
const answerCountsMs = 2_000;

/** The Kubernetes API does not take an object as it is to be. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

const resourceOf = (manifest: Pick<Manifest, 'kind'>): ClusterResource => Object.values(resources).find(({ kind }) => kind === manifest.kind) as ClusterResource;
const keyOf = ({ kind, metadata }: { readonly kind: string; readonly metadata: { readonly namespace: string; readonly name: string } }): string => `${kind}/${metadata.namespace}/${metadata.name}`;

function stamped(manifest: Manifest): Manifest & { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } } {
  const hash = createHash('sha256').update(JSON.stringify(manifest)).digest('hex').slice(0, 16);
  return { ...manifest, metadata: { ...manifest.metadata, annotations: { ...manifest.metadata.annotations, [manifestAnnotation]: hash } } };
}

/** What of an object its writers decide. */
function decided(object: KubeObject): string {
  const { status: _status, metadata: { labels, annotations, ownerReferences }, ...rest } = object;
  return JSON.stringify([labels, annotations, ownerReferences, { ...rest, metadata: undefined }]);
}

/** Keeps objects in a Kubernetes API as they are to be: writes what differs, and nothing again that the server or others insist on. */
export class ObjectKeeper {
  readonly #cluster: Cluster;
  readonly #view: RuntimeView;
  readonly #log: Logger;
  /** Answers that the view may not have yet. */
  readonly #answers = new Map<string, { readonly hash: string; readonly object: KubeObject; readonly atMs: number }>();
  /** What was applied and is not so all the same: by what was wanted and what is there. */
  readonly #insisted = new Map<string, string>();

  constructor(cluster: Cluster, view: RuntimeView, log: Logger) {
    this.#cluster = cluster;
    this.#view = view;
    this.#log = log;
  }

  /** An object as it is now, made or changed where that was needed. Throws Refused with the reason of the server, ordinary errors when it cannot be reached. */
  async keep(manifest: Manifest, installation: string): Promise<KubeObject> {
    const wanted = stamped(manifest);
    const { namespace, name, annotations } = wanted.metadata;
    const key = keyOf(wanted);
    const hash = annotations[manifestAnnotation] as string;
    const there = this.#view.get(wanted.kind, namespace, name);
    const answer = this.#answers.get(key);
    if (there === undefined && answer?.hash === hash && Date.now() - answer.atMs < answerCountsMs) return answer.object;
    if (there !== undefined) {
      if (there.metadata.labels?.[installationLabel] !== installation) throw new Refused(`${wanted.kind} ${namespace}/${name} belongs to another installation of Roundsman (label ${installationLabel}); delete it if that one is gone`);
      if (there.metadata.deletionTimestamp !== undefined) throw new Refused(`${wanted.kind} ${namespace}/${name} is still being deleted`);
      if (covers(there, wanted) || this.#insisted.get(key) === hash + decided(there)) return there;
      // The view has not heard of the answer yet, or somebody has changed it since: only the first goes by.
      if (answer?.hash === hash && Date.now() - answer.atMs < answerCountsMs && there.metadata.uid === answer.object.metadata.uid && there.metadata.annotations?.[manifestAnnotation] !== hash) return answer.object;
    }
    return this.#apply(wanted, hash, key, there);
  }

  async #apply(wanted: Manifest, hash: string, key: string, there: KubeObject | undefined): Promise<KubeObject> {
    try {
      const object = await this.#cluster.apply<KubeObject>(wanted as never);
      this.#answers.set(key, { hash, object, atMs: Date.now() });
      if (covers(object, wanted)) this.#insisted.delete(key);
      else {
        this.#insisted.set(key, hash + decided(object));
        this.#log.warn({ object: key }, 'the Kubernetes API keeps an object of a runtime otherwise than it was applied');
      }
      return object;
    } catch (error) {
      this.#answers.delete(key);
      if (!(error instanceof ClusterError) || error.code >= 500 || error.code === 429) throw error;
      if (error.reason === 'Invalid' && there !== undefined && canBeMadeAnew(wanted, error)) {
        await this.#cluster.delete(resourceOf(wanted), wanted.metadata.namespace, wanted.metadata.name, { uid: there.metadata.uid });
        throw new Refused(`${error.message}; it is being made anew`);
      }
      throw new Refused(error.message);
    }
  }

  /** It is not there any more, whatever was answered before. */
  gone({ kind, metadata: { namespace = '', name } }: KubeObject): void {
    const key = keyOf({ kind, metadata: { namespace, name } });
    this.#answers.delete(key);
    this.#insisted.delete(key);
  }
}

/** A running workload is not ended because of a change that would be refused for a new one, too. */
const canBeMadeAnew = ({ kind }: Manifest, { message }: ClusterError): boolean => (kind !== 'DaemonSet' && kind !== 'Deployment') || message.includes('immutable');
