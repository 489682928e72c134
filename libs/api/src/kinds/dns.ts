import { ageColumn, column, nameColumn, textAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { dnsRules } from '../rules/dns.ts';
import { dnsSchema, type Dns } from './dns/schema.ts';

export const dns: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'DNS',
  plural: 'dnses',
  singular: 'dns',
  shortNames: [],
  categories: ['roundsman'],
  namespaced: true,
  // Its Ingress is called `<name>-dns`.
  maxNameLength: 249,
  schema: dnsSchema,
  emptyIsAbsent: true,
  complete: (object) => {
    object.status ??= {};
  },
  hasStatus: true,
  columns: [
    nameColumn,
    column('Host', 'string', 'The name by which the services are reached', (object) => (object as Dns).spec.host),
    column('Paths', 'string', 'Which service answers which path', pathsText),
    column('Address', 'string', 'The address that the host resolves to', (object) => textAt(object, 'status', 'address') ?? ''),
    ageColumn,
  ],
  fieldSelectors: ['spec.host'],
  validate: dnsRules,
};

/** `/shop=shop:80,/mail=mail:http` */
function pathsText(object: KubeObject): string {
  return (object as Dns).spec.paths.map(({ path, service }) => `${path}=${service.name}:${service.port}`).join(',');
}
