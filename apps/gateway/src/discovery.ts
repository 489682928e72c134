import { apiVersionOf, type Kind } from '@roundsman/api';
import type { Verb } from './resources/reader.ts';
import type { Subresource } from './resources/subresources.ts';

/** What discovery says of one resource. */
export interface Listed {
  readonly kind: Kind;
  readonly verbs: readonly Verb[];
  readonly subresources: readonly Subresource[];
}

/** Everything discovery answers from, in the order given: the first version of a group is the preferred one. */
export class Discovery {
  readonly #listed: readonly Listed[];

  constructor(listed: readonly Listed[]) {
    this.#listed = listed;
  }

  /** `/api` and `/apis` in one document; its content type must name the form, or kubectl takes it for the legacy one. */
  aggregated(core: boolean, version: 'v2' | 'v2beta1'): { type: string; body: object } {
    const items = this.#groups(core).map((group) => ({
      metadata: { name: group, creationTimestamp: null },
      versions: this.#versions(group).map((one) => ({ version: one, freshness: 'Current', resources: this.#of(group, one).map(aggregatedResource) })),
    }));
    const body = { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
    return { type: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`, body };
  }

  coreVersions(address: string): object {
    return { kind: 'APIVersions', versions: this.#versions(''), serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: address }] };
  }

  groups(): object {
    return { kind: 'APIGroupList', apiVersion: 'v1', groups: this.#groups(false).map((group) => this.#group(group)) };
  }

  group(name: string): object | undefined {
    return this.#groups(false).includes(name) ? { kind: 'APIGroup', apiVersion: 'v1', ...this.#group(name) } : undefined;
  }

  resources(group: string, version: string): object | undefined {
    const listed = this.#of(group, version);
    if (listed.length === 0) return undefined;
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersionOf({ group, version }), resources: listed.flatMap(legacyResources) };
  }

  #group(name: string): { name: string; versions: object[]; preferredVersion: object | undefined } {
    const versions = this.#versions(name).map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions, preferredVersion: versions[0] };
  }

  #groups(core: boolean): string[] {
    return [...new Set(this.#listed.map(({ kind }) => kind.group))].filter((group) => (group === '') === core);
  }

  #versions(group: string): string[] {
    return [...new Set(this.#of(group).map(({ kind }) => kind.version))];
  }

  #of(group: string, version?: string): Listed[] {
    return this.#listed.filter(({ kind }) => kind.group === group && (version === undefined || kind.version === version));
  }
}

function aggregatedResource({ kind, verbs, subresources }: Listed): object {
  const { group, version, plural, singular, shortNames, categories, namespaced } = kind;
  return {
    resource: plural,
    responseKind: { group, version, kind: kind.kind },
    scope: namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map((one) => ({ subresource: one.name, responseKind: { ...(one.of ?? { group, version }), kind: one.kind }, verbs: one.verbs })) }),
  };
}

function legacyResources({ kind, verbs, subresources }: Listed): object[] {
  const { plural, singular, shortNames, categories, namespaced } = kind;
  return [
    { name: plural, singularName: singular, namespaced, kind: kind.kind, verbs, ...(shortNames.length === 0 ? {} : { shortNames }), ...(categories.length === 0 ? {} : { categories }) },
    ...subresources.map((one) => ({ name: `${plural}/${one.name}`, singularName: '', namespaced, ...one.of, kind: one.kind, verbs: one.verbs })),
  ];
}
