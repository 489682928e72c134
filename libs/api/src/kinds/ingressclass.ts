import { ageColumn, column, nameColumn } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { ingressClassRules } from '../rules/ingress-class.ts';
import { ingressClassSchema, type IngressClass } from './ingressclass/schema.ts';

export const ingressClass: Kind = {
  group: 'networking.k8s.io',
  version: 'v1',
  kind: 'IngressClass',
  plural: 'ingressclasses',
  singular: 'ingressclass',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: ingressClassSchema,
  emptyIsAbsent: true,
  complete,
  hasStatus: false,
  columns: [
    nameColumn,
    column('Controller', 'string', 'Who serves ingresses of this class', (object) => (object as IngressClass).spec.controller),
    column('Parameters', 'string', 'What else the controller is told', parametersText),
    ageColumn,
  ],
  fieldSelectors: [],
  validate: ingressClassRules,
};

/** Parameters that do not say where they are belong to the whole cluster. */
function complete(object: KubeObject): void {
  const { parameters } = (object as IngressClass).spec;
  if (parameters !== undefined) parameters.scope ??= 'Cluster';
}

/** `kind.group/name` */
function parametersText(object: KubeObject): string {
  const { parameters } = (object as IngressClass).spec;
  if (parameters === undefined) return '<none>';
  const { apiGroup, kind, name } = parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}
