import { apiVersionOf } from '../kind.ts';
import { kinds } from '../registry.ts';
import { taskKinds } from '../round/work.ts';
import { views } from '../views/registry.ts';
import { pathsOf, refusalResponses, type ServedResource } from './paths.ts';
import { kindSchemas, metaSchemas } from './schemas.ts';
import { formSchemas } from './subresources.ts';

const readOnly = ['get', 'list', 'watch'];
const writable = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** What is sent to a part of an object, where that is not the object itself. */
const subresourceKinds: Readonly<Record<string, string>> = {
  attach: 'PodAttachOptions',
  binding: 'Binding',
  eviction: 'Eviction',
  exec: 'PodExecOptions',
  portforward: 'PodPortForwardOptions',
};
/** Streams are opened with get and, by old clients, with create. */
const subresourceVerbs: Readonly<Record<string, readonly string[]>> = {
  binding: ['create'],
  eviction: ['create'],
  log: ['get'],
};

/** Every kind and view of the product with all that can be done with it. */
export function allResources(): ServedResource[] {
  return [...kinds, ...views].map((kind) => {
    const stored = kind.virtual !== true;
    const isTask = (taskKinds as readonly string[]).includes(kind.kind) && kind.group === 'roundsman.io';
    return {
      kind,
      verbs: stored ? writable : readOnly,
      subresources: [
        ...(stored && kind.hasStatus ? [{ name: 'status', kind: kind.kind, verbs: ['get', 'patch', 'update'] }] : []),
        ...(kind.scale === undefined ? [] : [{ name: 'scale', kind: 'Scale', verbs: ['get', 'patch', 'update'] }]),
        ...(kind.subresources ?? []).map((name) => ({ name, kind: subresourceKinds[name] ?? kind.kind, verbs: subresourceVerbs[name] ?? ['create', 'get'] })),
        ...(isTask ? ['run', 'cancel'].map((name) => ({ name, kind: kind.kind, verbs: ['create'] })) : []),
      ],
    };
  });
}

/**
 * The OpenAPI 3.0 document of one group and version (`v1`, `roundsman.io/v1`), from the schemas of its kinds; undefined when
 * nothing of it is served. What kubectl reads for explain and to see that the server validates fields.
 */
export function openApiDocument(groupVersion: string, served: readonly ServedResource[] = allResources()): Record<string, unknown> | undefined {
  const own = served.filter(({ kind }) => apiVersionOf(kind) === groupVersion);
  if (own.length === 0) return undefined;
  return {
    openapi: '3.0.3',
    info: {
      title: `Roundsman ${groupVersion}`,
      version: '1.0.0',
      description: 'Kubernetes-style REST: the same paths serve kubectl and curl. Refusals are Status objects.',
      license: { name: 'Apache-2.0' },
    },
    security: [{ BearerToken: [] }],
    paths: Object.assign({}, ...own.map(pathsOf)) as Record<string, unknown>,
    components: {
      schemas: Object.assign({}, ...own.map(({ kind, subresources }) => ({ ...kindSchemas(kind), ...formSchemas(subresources.map(({ name }) => name)) })), metaSchemas()) as Record<string, unknown>,
      responses: refusalResponses(),
      securitySchemes: { BearerToken: { type: 'http', scheme: 'bearer', description: 'The token that `roundsman up` writes into its kubeconfig' } },
    },
  };
}
