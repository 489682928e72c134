import { bindingSchema } from '../kinds/requests/binding.ts';
import { evictionSchema } from '../kinds/requests/eviction.ts';
import { scaleSchema } from '../kinds/requests/scale.ts';
import { fromZod, metaNames, type Schema } from './schemas.ts';

/** What goes to and comes from a subresource that has a form of its own. */
export interface SubresourceForm {
  /** Schema of what is sent, and of the answer to get, put and patch. */
  readonly schema: string;
  /** Schema of the answer to post. */
  readonly answer: string;
  readonly about: string;
}

export const subresourceForms: Readonly<Record<string, SubresourceForm>> = {
  scale: { schema: 'io.k8s.api.autoscaling.v1.Scale', answer: 'io.k8s.api.autoscaling.v1.Scale', about: 'How many pods there should be' },
  eviction: { schema: 'io.k8s.api.policy.v1.Eviction', answer: metaNames.status, about: 'Deletes the pod, unless a disruption budget is against it (429)' },
  binding: { schema: 'io.k8s.api.core.v1.Binding', answer: metaNames.status, about: 'Places the pod on a node' },
};

/** Streams: there is no one answer to describe. */
export const streamed: ReadonlySet<string> = new Set(['attach', 'exec', 'live', 'portforward']);
/** Of the parts, those that are text. */
export const textual: ReadonlySet<string> = new Set(['log']);

/** The schemas that the forms of `subresources` refer to. */
export function formSchemas(subresources: readonly string[]): Record<string, Schema> {
  const forms = { scale: scaleSchema, eviction: evictionSchema, binding: bindingSchema };
  const all: Record<string, Schema> = {};
  for (const [name, zod] of Object.entries(forms)) {
    if (!subresources.includes(name)) continue;
    const { schema, named } = fromZod(zod);
    Object.assign(all, named, { [subresourceForms[name]!.schema]: schema });
  }
  return all;
}
