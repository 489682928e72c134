import { isDeepStrictEqual } from 'node:util';
import type { EndpointSlice, KubeObject } from '@roundsman/api';
import type { Deps } from '../loop.ts';
import { controllerReference } from '../owner.ts';
import { isNamespaceEnding } from '../workloads/pods.ts';
import type { SliceGroup } from './slice-groups.ts';
import { managedByLabel, serviceNameLabel } from './slice-labels.ts';
import { planSlices, type SliceContent } from './slice-plan.ts';

export interface SliceSet {
  /** Goes and the slices go. */
  readonly owner: KubeObject;
  /** Name of the service, in the namespace of the owner. */
  readonly service: string;
  readonly managedBy: string;
  /** Besides those that name the service and who keeps them. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of those that are written. */
  readonly annotations: Readonly<Record<string, string>>;
  /** Of a new one, where it is not left to the server (`<service>-<random>`). */
  readonly name?: (content: SliceContent) => string;
}

export class SliceWriter {
  readonly #deps: Pick<Deps, 'caches' | 'objects'>;

  constructor(deps: Pick<Deps, 'caches' | 'objects'>) {
    this.#deps = deps;
  }

  /** The slices of a service that `managedBy` keeps. */
  of(serviceKey: string, managedBy: string): (EndpointSlice & KubeObject)[] {
    return this.#deps.caches.endpointSlices.by('service', serviceKey).filter(({ metadata }) => metadata.labels?.[managedByLabel] === managedBy && metadata.deletionTimestamp === undefined);
  }

  /** Writes what is not yet so. */
  async bring(set: SliceSet, wanted: readonly SliceGroup[]): Promise<void> {
    const { caches, objects } = this.#deps;
    const { owner, service, managedBy, annotations } = set;
    const { namespace = '' } = owner.metadata;
    const labels = { ...set.labels, [serviceNameLabel]: service, [managedByLabel]: managedBy };
    const ownerReferences = [controllerReference(owner)];
    const outdated = ({ metadata }: EndpointSlice): boolean => !isDeepStrictEqual(metadata.labels, labels) || !isDeepStrictEqual(metadata.ownerReferences, ownerReferences);
    const { create, update, remove } = planSlices(wanted, this.of(`${namespace}/${service}`, managedBy), outdated);
    const type = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' };
    try {
      for (const content of create) {
        const named = set.name === undefined ? { generateName: `${service}-` } : { name: set.name(content) };
        await objects.create(caches.endpointSlices, { ...type, metadata: { ...named, namespace, labels, annotations: { ...annotations }, ownerReferences }, ...content });
      }
    } catch (error) {
      if (!isNamespaceEnding(error)) throw error;
    }
    for (const { slice, content } of update) {
      await objects.update(caches.endpointSlices, { ...slice, ...content, metadata: { ...slice.metadata, labels, annotations: { ...slice.metadata.annotations, ...annotations }, ownerReferences } });
    }
    await this.remove(remove);
  }

  async remove(slices: readonly EndpointSlice[]): Promise<void> {
    for (const slice of slices) await this.#deps.objects.delete(this.#deps.caches.endpointSlices, slice as EndpointSlice & KubeObject);
  }
}
