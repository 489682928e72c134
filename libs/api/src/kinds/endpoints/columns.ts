import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { KubeObject } from '../../meta.ts';
import type { Endpoints } from './schema.ts';

/** How many are named; of the others it is told how many they are. */
const named = 3;

/** `10.0.0.1:80,10.0.0.2:80 + 1 more...` */
function endpointsText(object: KubeObject): string {
  const { subsets = [] } = object as unknown as Endpoints;
  if (subsets.length === 0) return '<none>';
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    // One without ports is told by its addresses (headless services).
    if (ports.length === 0) return addresses.map(({ ip }) => ip);
    return ports.flatMap(({ port }) => addresses.map(({ ip }) => hostPort(ip, port)));
  });
  const shown = all.slice(0, named).join(',');
  return all.length > named ? `${shown} + ${all.length - named} more...` : shown;
}

const hostPort = (ip: string, port: number): string => (ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`);

export const endpointsColumns: readonly Column[] = [nameColumn, column('Endpoints', 'string', 'Addresses that are ready, with their ports', endpointsText), ageColumn];
