import { textAt } from '../columns.ts';
import type { KubeObject } from '../meta.ts';
import { invalidValue, type Findings } from './causes.ts';

/** An event stands in the namespace of what it is about. */
export function eventRules(object: KubeObject): Findings {
  const about = textAt(object, 'involvedObject', 'namespace') ?? '';
  const stray = about !== '' && about !== object.metadata.namespace;
  return { causes: stray ? [invalidValue('involvedObject.namespace', about, 'does not match event.namespace')] : [], warnings: [] };
}
