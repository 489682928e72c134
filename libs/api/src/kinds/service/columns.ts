import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import type { Service } from './schema.ts';

export const serviceColumns: readonly Column[] = [
  nameColumn,
  column('Type', 'string', 'From where it is reached', (object) => (object as Service).spec.type),
  column('Cluster-IP', 'string', 'Address within the cluster', (object) => (object as Service).spec.clusterIPs?.[0] ?? (object as Service).spec.clusterIP ?? '<none>'),
  column('External-IP', 'string', 'Address from outside', externalText),
  column('Port(s)', 'string', 'Its ports', portsText),
  ageColumn,
  column('Selector', 'string', 'Labels of its pods', selectorText, { wide: true }),
];

function externalText(object: KubeObject): string {
  const { spec, status } = object as Service;
  const { externalIPs = [] } = spec;
  if (spec.type === 'ExternalName') return spec.externalName ?? '';
  if (spec.type !== 'LoadBalancer') return externalIPs.length === 0 ? '<none>' : externalIPs.join(',');
  const given = (status?.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
  const balanced = [...new Set(given)].sort().join(',');
  if (externalIPs.length > 0) return [...(balanced === '' ? [] : balanced.split(',')), ...externalIPs].join(',');
  return balanced === '' ? '<pending>' : balanced;
}

function portsText(object: KubeObject): string {
  const { ports = [] } = (object as Service).spec;
  if (ports.length === 0) return '<none>';
  return ports.map(({ port, nodePort, protocol }) => `${port}${nodePort === undefined ? '' : `:${nodePort}`}/${protocol}`).join(',');
}

/** In the order of their keys. */
function selectorText(object: KubeObject): string {
  const pairs = Object.entries((object as Service).spec.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join(',');
}
