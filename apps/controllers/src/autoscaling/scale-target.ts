import { kinds, labelSelectorText, numberAt, resourceKey, valueAt, type HorizontalPodAutoscaler, type Kind, type KubeObject, type LabelSelector } from '@roundsman/api';
import type { Informer } from '@roundsman/reconcile';
import type { Caches } from '../caches.ts';

/** What an autoscaler scales, as its `/scale` says it. */
export interface ScaleTarget {
  readonly cache: Informer;
  readonly object: KubeObject;
  readonly replicas: number;
  /** Of its pods; undefined when it has none. */
  readonly selector: LabelSelector | undefined;
  /** The same as a query. */
  readonly selectorText: string;
}

/** The target has no number that could be read; its message is told to people. */
export class NoScale extends Error {
  override readonly name = 'NoScale';
}

/** What the autoscaler names. Throws NoScale when there is no such thing, or one that cannot be scaled. */
export function scaleTarget({ metadata, spec }: HorizontalPodAutoscaler, caches: Pick<Caches, 'all'>): ScaleTarget {
  const { apiVersion = '', kind: kindName, name } = spec.scaleTargetRef;
  const kind = kindOf(apiVersion, kindName);
  const key = resourceKey(kind);
  const cache = caches.all.get(key);
  if (kind.scale === undefined || cache === undefined) {
    throw new NoScale(`the server could not find the requested resource (get ${key} ${name}, subresource scale): a ${kind.kind} has no number of replicas; name a Deployment, ReplicaSet or StatefulSet`);
  }
  const object = cache.get(metadata.namespace, name);
  if (object === undefined) throw new NoScale(`${resourceKey({ ...kind, plural: `${kind.plural}/scale` })} "${name}" not found`);
  const selector = valueAt(object, 'spec', 'selector') as LabelSelector | undefined;
  return { cache, object, replicas: numberAt(object, 'spec', 'replicas') ?? 1, selector, selectorText: labelSelectorText(selector) };
}

/** Of whatever version: an object is the same in all of them. */
function kindOf(apiVersion: string, name: string): Kind {
  const parts = apiVersion.split('/');
  if (parts.length > 2) throw new NoScale(`unexpected GroupVersion string: ${apiVersion}`);
  const group = parts.length === 2 ? parts[0] : '';
  const kind = kinds.find((one) => one.group === group && one.kind === name);
  if (kind === undefined) throw new NoScale(`no matches for kind ${JSON.stringify(name)} in group ${JSON.stringify(group)}`);
  return kind;
}
