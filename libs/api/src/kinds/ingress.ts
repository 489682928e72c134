import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { ingressRules } from '../rules/ingress.ts';
import { ingressColumns } from './ingress/columns.ts';
import { ingressSchema, type Ingress } from './ingress/schema.ts';

export const ingress: Kind = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'Ingress',
  plural: 'ingresses',
  singular: 'ingress',
  shortNames: ['ing'],
  categories: [],
  namespaced: true,
  schema: ingressSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: true,
  columns: ingressColumns,
  fieldSelectors: [],
  validate: ingressRules,
};

function complete(object: KubeObject): void {
  const { spec, status } = object as Ingress;
  object.status = status ?? { loadBalancer: {} };
  const backends = [spec.defaultBackend, ...(spec.rules ?? []).flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend))];
  // A port is named or numbered.
  for (const backend of backends) if (backend?.service?.port.number === 0) delete backend.service.port.number;
}
