import { describe, expect, it } from '@jest/globals';
import { kinds } from '../registry.ts';
import { views } from '../views/registry.ts';
import { openApiDocument } from './document.ts';

type Json = Record<string, unknown>;
interface Document extends Json {
  paths: Record<string, Record<string, Json>>;
  components: { schemas: Record<string, Json>; responses: Json };
}
const documents = ['v1', 'roundsman.io/v1', 'kdoctor.io/v1beta1', 'apps/v1', 'batch/v1', 'policy/v1', 'scheduling.k8s.io/v1', 'coordination.k8s.io/v1', 'metrics.k8s.io/v1beta1'].map((groupVersion) => [groupVersion, openApiDocument(groupVersion) as unknown as Document] as const);

function everyObject(value: unknown, visit: (object: Json) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) visit(value as Json);
  for (const member of Object.values(value)) everyObject(member, visit);
}

it('there is a document for each group and version, and none for others', () => {
  for (const [, document] of documents) expect(document).toBeDefined();
  expect(openApiDocument('apps/v2')).toBeUndefined();
});

describe.each(documents)('%s', (_groupVersion, document) => {
  it('refers only to what it has', () => {
    const missing: string[] = [];
    everyObject(document, ({ $ref }) => {
      if (typeof $ref !== 'string') return;
      const [, , section, name] = $ref.split('/');
      if (!Object.hasOwn(document.components[section as 'schemas'] ?? {}, name!)) missing.push($ref);
    });
    expect(missing).toEqual([]);
  });
  it('names every operation once and gives it answers', () => {
    const ids: string[] = [];
    for (const item of Object.values(document.paths)) {
      for (const [method, operation] of Object.entries(item)) {
        if (method === 'parameters') continue;
        ids.push(operation['operationId'] as string);
        const codes = Object.keys(operation['responses'] as Json);
        for (const code of ['401', '404', '503']) expect(codes).toContain(code);
        expect(codes.some((code) => code.startsWith('2'))).toBe(true);
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
  });
  it('declares every path parameter', () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const declared = ((item['parameters'] as unknown as { name: string }[]) ?? []).map(({ name }) => name);
      expect(declared).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });
  it('stays within OpenAPI 3.0', () => {
    const odd: unknown[] = [];
    everyObject(document, (object) => {
      if (!('properties' in object) && ['$schema', 'const', 'propertyNames', 'contentEncoding', '$defs', 'definitions'].some((member) => member in object)) odd.push(object);
    });
    expect(odd).toEqual([]);
  });
});

it('kubectl finds what it looks for: a patch with fieldValidation, and a schema, for every kind that can be written', () => {
  for (const kind of [...kinds, ...views]) {
    const { paths, components } = openApiDocument(kind.group === '' ? kind.version : `${kind.group}/${kind.version}`) as unknown as Document;
    const gvk = { group: kind.group, version: kind.version, kind: kind.kind };
    expect(Object.values(components.schemas)).toContainEqual(expect.objectContaining({ 'x-kubernetes-group-version-kind': [gvk] }));
    if (kind.virtual === true) continue;
    const patches = Object.values(paths).flatMap(({ patch }) => patch ?? []);
    expect(patches).toContainEqual(expect.objectContaining({ 'x-kubernetes-group-version-kind': gvk, parameters: expect.arrayContaining([expect.objectContaining({ name: 'fieldValidation' })]) }));
  }
});

it('describes every member of tasks and runtimes, for explain', () => {
  const missing: string[] = [];
  const walk = (schema: Json, path: string): void => {
    for (const [name, member] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
      if (member['description'] === undefined) missing.push(`${path}.${name}`);
      walk(member, `${path}.${name}`);
      if (member['items'] !== undefined) walk(member['items'] as Json, `${path}.${name}[]`);
    }
  };
  const { components } = documents[1]![1];
  for (const kind of ['NetReach', 'AppHttpHealthy', 'NetDNS', 'Runtime']) walk(components.schemas[`io.roundsman.v1.${kind}`]!, kind);
  expect(missing).toEqual([]);
  // What a task shares with pods is explained in the words of pods.
  const agentSpec = (components.schemas['io.roundsman.v1.NetReach'] as { properties: { spec: { properties: { agentSpec: Json } } } }).properties.spec.properties.agentSpec;
  expect(agentSpec).toMatchObject({ properties: { affinity: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.Affinity' }] }, env: { items: { $ref: '#/components/schemas/io.k8s.api.core.v1.EnvVar' } }, resources: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.ResourceRequirements' }] } } });
  expect(Object.keys(components.schemas)).toEqual(expect.arrayContaining(['io.k8s.api.core.v1.Affinity', 'io.k8s.api.core.v1.EnvVar', 'io.k8s.api.core.v1.ResourceRequirements', 'io.k8s.apimachinery.pkg.api.resource.Quantity']));
});

it('describes every member of pods, workloads and what is around them, and gives their parts the names that explain shows', () => {
  const missing: string[] = [];
  for (const groupVersion of ['v1', 'apps/v1', 'batch/v1', 'policy/v1', 'scheduling.k8s.io/v1', 'coordination.k8s.io/v1']) {
    const { components } = openApiDocument(groupVersion) as unknown as Document;
    for (const [name, schema] of Object.entries(components.schemas)) {
      if (!name.startsWith('io.k8s.api.') || name.endsWith('List')) continue;
      for (const [member, { description }] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) if (!description) missing.push(`${name}.${member}`);
    }
    expect(JSON.stringify(components).length).toBeLessThan(1_000_000);
  }
  expect(missing).toEqual([]);
  const { components } = openApiDocument('apps/v1') as unknown as Document;
  expect(components.schemas['io.k8s.api.core.v1.PodTemplateSpec']).toMatchObject({ properties: { spec: { allOf: [{ $ref: '#/components/schemas/io.k8s.api.core.v1.PodSpec' }] } }, required: ['spec'] });
  expect(components.schemas['io.k8s.api.core.v1.Container']).toMatchObject({ properties: { ports: { items: { $ref: '#/components/schemas/io.k8s.api.core.v1.ContainerPort' } } }, required: ['name'] });
});

it('describes metadata and options, which explain goes into', () => {
  const { schemas } = (openApiDocument('apps/v1') as unknown as Document).components;
  expect(schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta']).toMatchObject({ properties: { labels: { type: 'object' }, ownerReferences: { type: 'array' } } });
  expect(schemas['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']).toMatchObject({ properties: { propagationPolicy: {} } });
});

it('describes what goes to the parts of objects', () => {
  const { paths } = openApiDocument('v1') as unknown as Document;
  const eviction = (paths['/api/v1/namespaces/{namespace}/pods/{name}/eviction'] as { post: { requestBody: { content: Json } } }).post;
  expect(eviction.requestBody.content['application/json']).toEqual({ schema: { $ref: '#/components/schemas/io.k8s.api.policy.v1.Eviction' } });
  expect(paths).not.toHaveProperty(['/api/v1/namespaces/{namespace}/pods/{name}/exec']);
  const scale = (openApiDocument('apps/v1') as unknown as Document).paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'];
  expect(Object.keys(scale!)).toEqual(['parameters', 'get', 'put', 'patch']);
});
