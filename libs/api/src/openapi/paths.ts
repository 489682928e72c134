import type { Kind } from '../kind.ts';
import { metaNames, reference, schemaName, type Schema } from './schemas.ts';
import { streamed, subresourceForms, textual } from './subresources.ts';

/** A resource as it is served: what can be done with it, and the parts that have paths of their own. */
export interface ServedResource {
  readonly kind: Kind;
  readonly verbs: readonly string[];
  readonly subresources: readonly { readonly name: string; readonly kind: string; readonly verbs: readonly string[] }[];
}

type Operation = Record<string, unknown>;
type PathItem = Record<string, unknown>;

const query = (name: string, schema: Schema, description: string): Schema => ({ name, in: 'query', required: false, description, schema });
const flag: Schema = { type: 'boolean' };
const number: Schema = { type: 'integer', minimum: 0, maximum: 999_999_999 };
const text: Schema = { type: 'string' };
const pretty = query('pretty', flag, 'Indent the answer');
const dryRun = query('dryRun', { type: 'string', enum: ['All'] }, 'All: check everything, change nothing');
const writing = [
  dryRun,
  query('fieldManager', { type: 'string', maxLength: 128, pattern: '^[ -~]*$' }, 'Who writes; recorded with the fields'),
  query('fieldValidation', { type: 'string', enum: ['Strict', 'Warn', 'Ignore'] }, 'What to do about unknown fields: refuse, warn, or drop them silently'),
  pretty,
];
const logging = [
  query('container', text, 'Container to read of; needed where there are several'),
  query('follow', flag, 'Go on while it is written'),
  query('previous', flag, 'Of the container before it was last started again'),
  query('tailLines', number, 'Only this many lines from the end'),
  query('sinceSeconds', number, 'Only of the last seconds'),
  query('sinceTime', text, 'Only from this time on, RFC 3339'),
  query('timestamps', flag, 'A time before every line'),
  query('limitBytes', number, 'At most this many bytes'),
  query('stream', { type: 'string', enum: ['All', 'Stdout', 'Stderr'] }, 'Which output'),
];
const listing = [
  query('labelSelector', text, 'Only objects with these labels: a=b,c!=d,e in (f,g),!h'),
  query('fieldSelector', text, 'Only objects with these fields: metadata.name=x'),
  query('limit', number, 'At most this many; the answer says where to go on'),
  query('continue', text, 'Where to go on: metadata.continue of the page before'),
  query('resourceVersion', { type: 'string', pattern: '^[0-9]{0,15}$' }, 'Not older than this version'),
  query('resourceVersionMatch', { type: 'string', enum: ['Exact', 'NotOlderThan'] }, 'How to take resourceVersion'),
];

const refusals: Record<string, string> = {
  400: 'The request cannot be read; the message says where',
  401: 'No valid bearer token',
  403: 'Not allowed',
  404: 'No such object or resource',
  405: 'Not possible here; Allow names what is',
  406: 'None of the accepted media types can be served',
  409: 'It exists already, or it has been changed meanwhile',
  410: 'The history asked for is no longer kept: list again',
  413: 'The body is too large',
  415: 'The media type of the body is not read',
  422: 'The object breaks rules; details.causes has one entry per field',
  429: 'Too many requests',
  503: 'Not possible just now; nothing was changed unless the message says so',
  504: 'No answer in time: it is not known whether it was done',
};
const reading = ['400', '401', '403', '404', '405', '406', '410', '422', '429', '503', '504'];
const changing = [...reading, '409', '413', '415'];

/** Both forms in which every answer is given. */
const content = (schema: Schema): Record<string, unknown> => ({ 'application/json': { schema }, 'application/yaml': { schema } });
const answer = (description: string, schema: Schema): Record<string, unknown> => ({ description, content: content(schema) });

/** Referred to by every operation. */
export const refusalResponses = (): Record<string, unknown> =>
  Object.fromEntries(Object.entries(refusals).map(([code, description]) => [`Refused${code}`, answer(description, reference(metaNames.status))]));

const refused = (codes: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/responses/Refused${code}` }]));

class ResourcePaths {
  readonly #kind: Kind;
  readonly #gvk: Record<string, string>;
  readonly #object: Schema;

  /** `form`: schema of what is read and written, where it is not the object itself. */
  constructor(kind: Kind, form?: string) {
    this.#kind = kind;
    this.#gvk = { group: kind.group, version: kind.version, kind: kind.kind };
    this.#object = reference(form ?? schemaName(kind));
  }

  operation(verb: string, action: string, what: string, rest: Operation): Operation {
    const scope = what.replaceAll(/(^|[^a-zA-Z]+)([a-zA-Z])/g, (_match, _gap, letter: string) => letter.toUpperCase());
    const group = this.#kind.group === '' ? 'Core' : this.#kind.group.replaceAll(/(^|\.)([a-z])/g, (_match, _dot, letter: string) => letter.toUpperCase());
    return {
      operationId: `${verb}${group}${this.#kind.version.toUpperCase()}${this.#kind.kind}${scope}`,
      tags: [this.#kind.group === '' ? 'core' : this.#kind.group],
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': this.#gvk,
      ...rest,
    };
  }

  list(what: string): Operation {
    return this.operation('list', 'list', what, {
      description: `Lists ${this.#kind.plural}. With watch=true the answer is a stream of changes instead, one JSON object per line`,
      parameters: [...listing, pretty],
      responses: { 200: answer('The objects', reference(`${schemaName(this.#kind)}List`)), ...refused(reading) },
    });
  }

  create(): Operation {
    return this.operation('create', 'post', '', {
      description: `Creates a ${this.#kind.kind}; answers when it is stored`,
      parameters: writing,
      requestBody: { required: true, content: content(this.#object) },
      responses: { 201: answer('Created', this.#object), ...refused(changing) },
    });
  }

  /** The log of a container, for one. */
  text(name: string): Operation {
    const responses = { 200: { description: 'The text, as long as it goes on with follow=true', content: { 'text/plain': { schema: text } } }, ...refused(reading) };
    return this.operation('read', 'get', name, { description: `Reads the ${name} of a ${this.#kind.kind}`, parameters: logging, responses });
  }

  get(what: string): Operation {
    return this.operation('read', 'get', what, { description: `Reads a ${this.#kind.kind}`, parameters: [pretty], responses: { 200: answer('The object', this.#object), ...refused(reading) } });
  }

  replace(what: string): Operation {
    return this.operation('replace', 'put', what, {
      description: `Replaces a ${this.#kind.kind}; with metadata.resourceVersion only if that is still the current one`,
      parameters: writing,
      requestBody: { required: true, content: content(this.#object) },
      responses: { 200: answer('As stored', this.#object), ...refused(changing) },
    });
  }

  patch(what: string): Operation {
    const operations: Schema = {
      type: 'array',
      items: {
        type: 'object',
        properties: { op: { type: 'string', enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] }, path: text, from: text, value: {} },
        required: ['op', 'path'],
      },
    };
    return this.operation('patch', 'patch', what, {
      description: `Changes parts of a ${this.#kind.kind}; an apply patch creates what is not there`,
      parameters: [...writing, query('force', flag, 'Apply patches: take fields over from other managers')],
      requestBody: {
        required: true,
        content: {
          'application/merge-patch+json': { schema: reference(metaNames.patch) },
          'application/json-patch+json': { schema: operations },
          'application/apply-patch+yaml': { schema: this.#object },
        },
      },
      responses: { 200: answer('As stored', this.#object), 201: answer('Created by an apply patch', this.#object), ...refused(changing) },
    });
  }

  remove(verb: 'delete' | 'deleteCollection'): Operation {
    const many = verb === 'deleteCollection';
    const gone = many ? reference(`${schemaName(this.#kind)}List`) : { oneOf: [reference(metaNames.status), this.#object] };
    return this.operation(verb, many ? 'deletecollection' : 'delete', '', {
      description: many ? `Deletes the ${this.#kind.plural} that are selected` : `Deletes a ${this.#kind.kind}. The answer is the object while finalizers keep it, a Status otherwise`,
      parameters: [dryRun, pretty, ...(many ? listing : [])],
      requestBody: { required: false, content: content(reference(metaNames.deleteOptions)) },
      responses: { 200: answer('Deleted, or being deleted', gone), ...refused(changing) },
    });
  }

  action(name: string): Operation {
    const form = subresourceForms[name];
    if (form !== undefined) {
      return this.operation('create', 'post', name, {
        description: form.about,
        parameters: writing,
        requestBody: { required: true, content: content(reference(form.schema)) },
        responses: { 201: answer('Done', reference(form.answer)), ...refused(changing) },
      });
    }
    return this.operation('create', 'post', name, {
      description: name === 'run' ? 'Starts one extra round now' : 'Ends the running round early',
      parameters: writing,
      responses: { 201: answer('The task, with the request noted on it', this.#object), ...refused(changing) },
    });
  }
}

const pathParameter = (name: string, description: string): Schema => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
});
const namespaceParameter = pathParameter('namespace', 'Namespace of the objects');
const nameParameter = pathParameter('name', 'Name of the object');

/** All paths of one resource. */
export function pathsOf({ kind, verbs, subresources }: ServedResource): Record<string, PathItem> {
  const of = new ResourcePaths(kind);
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const has = (verb: string): boolean => verbs.includes(verb);
  const all = `${root}/${kind.plural}`;
  const collection = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : all;
  const shared = kind.namespaced ? [namespaceParameter] : [];
  const paths: Record<string, PathItem> = {};
  if (kind.namespaced && has('list')) paths[all] = { get: of.list('ForAllNamespaces') };
  paths[collection] = {
    ...(shared.length > 0 && { parameters: shared }),
    ...(has('list') && { get: of.list('') }),
    ...(has('create') && { post: of.create() }),
    ...(has('deletecollection') && { delete: of.remove('deleteCollection') }),
  };
  const one = `${collection}/{name}`;
  paths[one] = {
    parameters: [...shared, nameParameter],
    ...(has('get') && { get: of.get('') }),
    ...(has('update') && { put: of.replace('') }),
    ...(has('patch') && { patch: of.patch('') }),
    ...(has('delete') && { delete: of.remove('delete') }),
  };
  for (const { name, verbs: possible } of subresources) {
    // A stream has no answer to describe; docs tell how to follow it.
    if (streamed.has(name)) continue;
    const form = subresourceForms[name];
    const part = form === undefined ? of : new ResourcePaths(kind, form.schema);
    paths[`${one}/${name}`] = {
      parameters: [...shared, nameParameter],
      ...(possible.includes('get') && { get: textual.has(name) ? of.text(name) : part.get(name) }),
      ...(possible.includes('update') && { put: part.replace(name) }),
      ...(possible.includes('patch') && { patch: part.patch(name) }),
      ...(possible.includes('create') && { post: of.action(name) }),
    };
  }
  return paths;
}
