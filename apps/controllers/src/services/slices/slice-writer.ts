import { isDeepStrictEqual } from 'node:util';
import { serviceNameLabel, type EndpointSlice, type KubeObject } from '@roundsman/api';
import type { Deps } from '../../loop.ts';
import { controllerReference, type OwnerReference } from '../../owner.ts';
import { isNamespaceEnding } from '../../workloads/pods.ts';
import type { SliceGroup } from './slice-groups.ts';
import { managedByLabel } from '../labels.ts';
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

  /** Writes what is not yet so, into slices whose names the server makes. */
  async bring(set: SliceSet, wanted: readonly SliceGroup[]): Promise<void> {
    const meta = metaOf(set);
    const { create, update, remove } = planSlices(wanted, this.#there(set), (slice) => isOutdated(slice, meta));
    for (const content of create) await this.#create(set, { generateName: `${set.service}-` }, content);
    for (const { slice, content } of update) await this.#update(set, slice, content);
    await this.remove(remove);
  }

  /** The same for slices that have names of their own. */
  async bringNamed(set: SliceSet, wanted: ReadonlyMap<string, SliceContent>): Promise<void> {
    const meta = metaOf(set);
    const there = new Map(this.#there(set).map((slice) => [slice.metadata.name, slice]));
    for (const [name, content] of wanted) {
      const slice = there.get(name);
      const { addressType, ports, endpoints } = slice ?? {};
      if (slice === undefined) await this.#create(set, { name }, content);
      else if (isOutdated(slice, meta) || !isDeepStrictEqual({ addressType, ports, endpoints }, content)) await this.#update(set, slice, content);
    }
    await this.remove([...there.values()].filter(({ metadata }) => !wanted.has(metadata.name)));
  }

  /** From now on another one keeps them. */
  async handOver(slices: readonly (EndpointSlice & KubeObject)[], managedBy: string): Promise<void> {
    for (const slice of slices) await this.#deps.objects.update(this.#deps.caches.endpointSlices, { ...slice, metadata: { ...slice.metadata, labels: { ...slice.metadata.labels, [managedByLabel]: managedBy } } });
  }

  async remove(slices: readonly EndpointSlice[]): Promise<void> {
    for (const slice of slices) await this.#deps.objects.delete(this.#deps.caches.endpointSlices, slice as EndpointSlice & KubeObject);
  }

  #there({ owner, service, managedBy }: SliceSet): EndpointSlice[] {
    return this.of(`${owner.metadata.namespace ?? ''}/${service}`, managedBy);
  }

  async #create(set: SliceSet, named: { name: string } | { generateName: string }, content: SliceContent): Promise<void> {
    const { namespace = '' } = set.owner.metadata;
    const metadata = { ...named, namespace, ...metaOf(set), annotations: { ...set.annotations } };
    try {
      await this.#deps.objects.create(this.#deps.caches.endpointSlices, { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, ...content });
    } catch (error) {
      if (!isNamespaceEnding(error)) throw error;
    }
  }

  async #update(set: SliceSet, slice: EndpointSlice, content: SliceContent): Promise<void> {
    const metadata = { ...slice.metadata, ...metaOf(set), annotations: { ...slice.metadata.annotations, ...set.annotations } };
    await this.#deps.objects.update(this.#deps.caches.endpointSlices, { ...slice, ...content, metadata });
  }
}

interface SliceMeta {
  readonly labels: Record<string, string>;
  readonly ownerReferences: OwnerReference[];
}

const metaOf = ({ owner, service, managedBy, labels }: SliceSet): SliceMeta => ({ labels: { ...labels, [serviceNameLabel]: service, [managedByLabel]: managedBy }, ownerReferences: [controllerReference(owner)] });

const isOutdated = ({ metadata }: EndpointSlice, { labels, ownerReferences }: SliceMeta): boolean => !isDeepStrictEqual(metadata.labels, labels) || !isDeepStrictEqual(metadata.ownerReferences, ownerReferences);
