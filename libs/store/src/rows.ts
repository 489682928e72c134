import type { KubeObject } from '@roundsman/api';
import type { Change } from '@roundsman/bus';

export interface ChangeRow {
  version: number;
  of_resource: number;
  type: Change['type'];
  resource: string;
  namespace: string;
  name: string;
  uid: string;
  body: string;
}

export const changeOf = (row: ChangeRow): Change => ({
  type: row.type,
  version: row.version,
  previous: row.version - 1,
  previousOfResource: row.of_resource,
  resource: row.resource,
  namespace: row.namespace,
  name: row.name,
  uid: row.uid,
  object: JSON.parse(row.body) as Change['object'],
});

export const objectOf = (body: string): KubeObject => JSON.parse(body) as KubeObject;
