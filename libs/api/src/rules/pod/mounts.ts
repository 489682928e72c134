import type { Cause } from '../../kind.ts';
import type { Container } from '../../kinds/pod/container.ts';
import type { Volume } from '../../kinds/pod/volume.ts';
import { forbiddenField, invalidValue, notFoundValue, required } from '../causes.ts';
import { descending } from './volumes.ts';

export function mountCauses({ volumeMounts = [], securityContext }: Pick<Container, 'volumeMounts' | 'securityContext'>, volumes: ReadonlyMap<string, Volume>, field: string): Cause[] {
  const paths = new Set<string>();
  return volumeMounts.flatMap(({ name, mountPath, subPath = '', subPathExpr = '', mountPropagation, recursiveReadOnly, readOnly }, index) => {
    const at = `${field}[${index}]`;
    const causes: Cause[] = [];
    if (name === '') causes.push(required(`${at}.name`, ''));
    if (!volumes.has(name)) causes.push(notFoundValue(`${at}.name`, name));
    if (mountPath === '') causes.push(required(`${at}.mountPath`, ''));
    if (paths.has(mountPath)) causes.push(invalidValue(`${at}.mountPath`, mountPath, 'must be unique'));
    paths.add(mountPath);
    // Kubernetes names the list here, not the entry.
    causes.push(...descending(`${field}.subPath`, subPath));
    if (subPath !== '' && subPathExpr !== '') causes.push(invalidValue(`${at}.subPathExpr`, subPathExpr, 'subPathExpr and subPath are mutually exclusive'));
    causes.push(...descending(`${field}.subPathExpr`, subPathExpr));
    if (mountPropagation === 'Bidirectional' && securityContext?.privileged !== true) causes.push(forbiddenField(`${field}.mountPropagation`, 'Bidirectional mount propagation is available only to privileged containers'));
    const recursive = recursiveReadOnly !== undefined && recursiveReadOnly !== 'Disabled';
    if (recursive && readOnly !== true) causes.push(forbiddenField(`${field}.recursiveReadOnly`, 'may only be specified when readOnly is true'));
    if (recursive && (mountPropagation ?? 'None') !== 'None') causes.push(forbiddenField(`${field}.recursiveReadOnly`, 'may only be specified when mountPropagation is None or not specified'));
    return causes;
  });
}
