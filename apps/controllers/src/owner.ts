import type { KubeObject } from '@roundsman/api';

export type OwnerReference = NonNullable<KubeObject['metadata']['ownerReferences']>[number];

/** The reference to the one owner that manages it. */
export const controllerOf = ({ metadata }: Pick<KubeObject, 'metadata'>): OwnerReference | undefined => metadata.ownerReferences?.find(({ controller }) => controller === true);

export const isControlledBy = (object: Pick<KubeObject, 'metadata'>, owner: Pick<KubeObject, 'metadata'>): boolean => controllerOf(object)?.uid === owner.metadata.uid;

/** What an owner writes into what it manages. */
export const controllerReference = ({ apiVersion, kind, metadata: { name, uid } }: Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>): OwnerReference => ({
  apiVersion,
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** The metadata with these lists; an empty one is left out, as Kubernetes stores it. */
export function withLists<M extends Partial<KubeObject['metadata']>>(metadata: M, lists: { readonly ownerReferences?: readonly OwnerReference[]; readonly finalizers?: readonly string[] }): M {
  const changed: Record<string, unknown> = { ...metadata, ...lists };
  for (const [name, list] of Object.entries(lists)) if (list.length === 0) delete changed[name];
  return changed as M;
}
