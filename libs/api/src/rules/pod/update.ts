import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../../kind.ts';
import type { Container, EphemeralContainer } from '../../kinds/pod/container.ts';
import type { PodSpec } from '../../kinds/pod/spec.ts';
import type { Toleration } from '../../kinds/pod/placement.ts';
import { forbiddenField, invalidValue } from '../causes.ts';
import { differences } from '../differences.ts';

/** Whoever binds, and evicts, does so by requests of its own; all else of a pod stays as it was made, but for these, and ephemeral containers that are added. */
const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
];

/** What an update of a pod changes that may not be changed. */
export function podUpdateCauses(spec: PodSpec, old: PodSpec): Cause[] {
  for (const member of ['containers', 'initContainers'] as const) {
    if ((spec[member] ?? []).length !== (old[member] ?? []).length) return [forbiddenField(`spec.${member}`, 'pod updates may not add or remove containers')];
  }
  const causes = [...ephemeralCauses(spec.ephemeralContainers ?? [], old.ephemeralContainers ?? []), ...deadlineCauses(spec, old), ...tolerationsCauses(spec.tolerations ?? [], old.tolerations ?? []), ...gatesCauses(spec, old)];
  const munged = withImagesOf(spec, old);
  for (const member of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations', 'ephemeralContainers'] as const) {
    delete munged[member];
    if (old[member] !== undefined) Object.assign(munged, { [member]: old[member] });
  }
  if (old.terminationGracePeriodSeconds < 0 && munged.terminationGracePeriodSeconds === 1) munged.terminationGracePeriodSeconds = old.terminationGracePeriodSeconds;
  if (isDeepStrictEqual(munged, old)) return causes;
  return [...causes, forbiddenField('spec', `pod updates may not change fields other than ${changeable.join(',')}\n${differences(old, munged)}`)];
}

function withImagesOf(spec: PodSpec, old: PodSpec): PodSpec {
  const images = (containers: readonly Container[], before: readonly Container[]): Container[] =>
    containers.map((container, index) => {
      const { image: _new, ...rest } = container;
      const image = before[index]?.image;
      return image === undefined ? rest : { ...rest, image };
    });
  return { ...spec, containers: images(spec.containers, old.containers), ...(spec.initContainers !== undefined && { initContainers: images(spec.initContainers, old.initContainers ?? []) }) };
}

function ephemeralCauses(containers: readonly EphemeralContainer[], old: readonly EphemeralContainer[]): Cause[] {
  return old.flatMap((before) => {
    const now = containers.find(({ name }) => name === before.name);
    if (isDeepStrictEqual(now, before)) return [];
    return [forbiddenField('spec.ephemeralContainers', `existing ephemeral containers ${JSON.stringify(before.name)} may not be ${now === undefined ? 'removed' : 'changed'}\n`)];
  });
}

function deadlineCauses({ activeDeadlineSeconds: next }: PodSpec, { activeDeadlineSeconds: before }: PodSpec): Cause[] {
  if (before === undefined || (next !== undefined && next <= before)) return [];
  if (next === undefined) return [invalidValue('spec.activeDeadlineSeconds', null, 'must not update from a positive integer to nil value')];
  return [invalidValue('spec.activeDeadlineSeconds', next, 'must be less than or equal to previous value')];
}

function tolerationsCauses(tolerations: readonly Toleration[], old: readonly Toleration[]): Cause[] {
  const without = ({ tolerationSeconds: _seconds, ...rest }: Toleration): Toleration => rest;
  const kept = old.every((one) => tolerations.some((other) => isDeepStrictEqual(without(other), without(one))));
  return kept ? [] : [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')];
}

const gatesCauses = (spec: PodSpec, old: PodSpec): Cause[] =>
  (spec.schedulingGates ?? []).flatMap(({ name }, index) =>
    (old.schedulingGates ?? []).some((gate) => gate.name === name) ? [] : [forbiddenField(`spec.schedulingGates[${index}].name`, `only deletion is allowed, but found new scheduling gate '${name}'`)],
  );
