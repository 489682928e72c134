import { column, numberAt, textAt, valueAt } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import { labelSelectorText } from '../../label-selector.ts';
import type { KubeObject } from '../../meta.ts';
import type { LabelSelector } from './selector.ts';

type Path = readonly (string | number)[];

function containersText(member: 'name' | 'image', template: Path): (object: KubeObject) => string {
  return (object) => {
    const containers = valueAt(object, ...template, 'spec', 'containers');
    return Array.isArray(containers) ? containers.map((container) => textAt(container, member) ?? '').join(',') : '';
  };
}

/** What is made of which containers; only with -o wide. `template` leads to the template of the pods. */
export const containerColumns = (template: Path = ['spec', 'template']): Column[] => [
  column('Containers', 'string', 'Names of the containers', containersText('name', template), { wide: true }),
  column('Images', 'string', 'Images of the containers', containersText('image', template), { wide: true }),
];

/** A number in the status; 0 when it is not there. */
export const counted = (member: string) => (object: KubeObject): number => numberAt(object, 'status', member) ?? 0;

/** How its pods are chosen; only with -o wide. */
export const selectorColumn = (path: Path = ['spec', 'selector']): Column =>
  column('Selector', 'string', 'How its pods are chosen', (object) => labelSelectorText(valueAt(object, ...path) as LabelSelector | undefined) || '<none>', { wide: true });
