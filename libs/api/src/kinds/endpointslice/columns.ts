import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { EndpointSlice } from './schema.ts';

/** How many are named; of the others it is told how many they are. */
const named = 3;

function listText(items: readonly string[]): string {
  if (items.length === 0) return '<unset>';
  return items.length > named ? `${items.slice(0, named).join(',')} + ${items.length - named} more...` : items.join(',');
}

export const endpointSliceColumns: readonly Column[] = [
  nameColumn,
  column('AddressType', 'string', 'What its addresses are', (object) => (object as unknown as EndpointSlice).addressType),
  column('Ports', 'string', 'Ports of its endpoints', (object) => listText((object as unknown as EndpointSlice).ports.map(({ name, port }) => String(port ?? name)))),
  column('Endpoints', 'string', 'Addresses of its endpoints', (object) => listText((object as unknown as EndpointSlice).endpoints.flatMap(({ addresses }) => addresses))),
  ageColumn,
];
