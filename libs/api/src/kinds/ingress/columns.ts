import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import type { Ingress } from './schema.ts';

/** How many hosts are named; of the others it is told how many they are. */
const named = 3;

function hostsText(object: KubeObject): string {
  const { rules = [] } = (object as Ingress).spec;
  const hosts: string[] = [];
  let more = false;
  for (const { host } of rules) {
    if (hosts.length === named) more = true;
    else if (host !== undefined) hosts.push(host);
  }
  if (hosts.length === 0) return '*';
  return more ? `${hosts.join(',')} + ${rules.length - named} more...` : hosts.join(',');
}

function addressText(object: KubeObject): string {
  const given = ((object as Ingress).status?.loadBalancer.ingress ?? []).flatMap(({ ip, hostname }) => ip ?? hostname ?? []);
  return [...new Set(given)].sort().join(',');
}

export const ingressColumns: readonly Column[] = [
  nameColumn,
  column('Class', 'string', 'Class of those that serve it', (object) => (object as Ingress).spec.ingressClassName ?? '<none>'),
  column('Hosts', 'string', 'Hosts whose requests it lets in', hostsText),
  column('Address', 'string', 'Where it is reached', addressText),
  column('Ports', 'string', 'Ports on which it is reached', (object) => (((object as Ingress).spec.tls ?? []).length === 0 ? '80' : '80, 443')),
  ageColumn,
];
