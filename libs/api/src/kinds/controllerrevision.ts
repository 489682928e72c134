import { z } from 'zod';
import { ageColumn, column, nameColumn, numberAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { KubeObject } from '../meta.ts';
import { objectOf } from './object.ts';

export interface ControllerRevision extends Omit<KubeObject, 'spec' | 'status'> {
  data?: Record<string, unknown> | undefined;
  revision: number;
}

export const controllerRevision: Kind = {
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  singular: 'controllerrevision',
  shortNames: [],
  categories: [],
  namespaced: true,
  schema: objectOf('apps/v1', 'ControllerRevision', 'A state of a workload that can be gone back to', {
    data: z.looseObject({}).optional().describe('The state'),
    revision: z.number().int().describe('Number of the revision'),
  }),
  hasStatus: false,
  columns: [nameColumn, column('Controller', 'string', 'Whose state it is', controllerText), column('Revision', 'string', 'Number of the revision', (object) => numberAt(object, 'revision') ?? 0), ageColumn],
  fieldSelectors: [],
  generationOf: () => undefined,
};

/** `daemonset.apps/name` */
function controllerText(object: KubeObject): string {
  const controller = (object.metadata.ownerReferences ?? []).find((owner) => owner.controller === true);
  if (controller === undefined) return '<none>';
  const group = controller.apiVersion.includes('/') ? `.${controller.apiVersion.split('/')[0]}` : '';
  return `${controller.kind.toLowerCase()}${group}/${controller.name}`;
}
