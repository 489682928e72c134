import { z } from 'zod';
import type { Kind } from '../kind.ts';
import { column, nameColumn, textAt, valueAt } from '../columns.ts';
import type { KubeObject } from '../meta.ts';
import { message, requiredText } from './fields.ts';
import { objectOf } from './object.ts';

const usage = z.record(z.string(), z.string()).describe('What it uses: cpu in cores and memory in bytes, as quantities');
const measured = {
  timestamp: requiredText('End of the time that was measured'),
  window: requiredText('Length of that time, such as 10s'),
};
const containerSchema = message('io.k8s.metrics.v1beta1.ContainerMetrics', 'What a container uses', { name: requiredText('Name of the container'), usage });

export interface NodeMetrics extends Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> {
  timestamp: string;
  window: string;
  usage: Record<string, string>;
}
export interface PodMetrics extends Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'> {
  timestamp: string;
  window: string;
  containers: z.infer<typeof containerSchema>[];
}

const shown = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  shortNames: [],
  categories: [],
  hasStatus: false,
  fieldSelectors: [],
  virtual: true,
} as const;
const used = (resource: 'cpu' | 'memory') => column(resource, 'string', 'What it uses', (object) => textAt(object, 'usage', resource) ?? null);
const windowColumn = column('Window', 'string', 'Time that was measured', (object) => textAt(object, 'window') ?? null);

export const nodeMetrics: Kind = {
  ...shown,
  kind: 'NodeMetrics',
  plural: 'nodes',
  singular: 'node',
  namespaced: false,
  schema: objectOf('metrics.k8s.io/v1beta1', 'NodeMetrics', 'What a node uses', { ...measured, usage }),
  columns: [nameColumn, used('cpu'), used('memory'), windowColumn],
};

export const podMetrics: Kind = {
  ...shown,
  kind: 'PodMetrics',
  plural: 'pods',
  singular: 'pod',
  namespaced: true,
  schema: objectOf('metrics.k8s.io/v1beta1', 'PodMetrics', 'What the containers of a pod use', { ...measured, containers: z.array(containerSchema).describe('What each container uses') }),
  columns: [nameColumn, column('Containers', 'integer', 'How many containers were measured', (object) => (valueAt(object, 'containers') as unknown[] | undefined)?.length ?? 0), windowColumn],
};
