import type { Cause } from '../../kind.ts';
import type { Container, EphemeralContainer } from '../../kinds/pod/container.ts';
import type { PodSpec } from '../../kinds/pod/spec.ts';
import type { Volume } from '../../kinds/pod/volume.ts';
import { labelProblem } from '../../names.ts';
import { duplicate, forbiddenField, invalidValue, named, notFoundValue, required } from '../causes.ts';
import { environmentCauses, envFromCauses } from './environment.ts';
import { mountCauses } from './mounts.ts';
import { hostPortCauses, portCauses } from './ports.ts';
import { lifecycleCauses, probeCauses } from './probes.ts';
import { resourceCauses } from './resources.ts';
import { securityCauses } from './security.ts';

/** Where a container stands: the volumes it can mount, and whether it is of a pod (a template may still be completed). */
interface Place {
  readonly volumes: ReadonlyMap<string, Volume>;
  readonly isPod: boolean;
}

/** What holds for containers of every sort. */
function commonCauses(container: Container | EphemeralContainer, at: string, { volumes, isPod }: Place): Cause[] {
  const { name, image = '', ports = [], env = [], envFrom = [], resources, securityContext } = container;
  const causes = name === '' ? [required(`${at}.name`, '')] : named(`${at}.name`, name, labelProblem(name));
  if (image === '') causes.push(required(`${at}.image`, ''));
  else if (isPod && image !== image.trim()) causes.push(invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace'));
  causes.push(...portCauses(ports, `${at}.ports`), ...environmentCauses(env, `${at}.env`), ...envFromCauses(envFrom, `${at}.envFrom`));
  causes.push(...mountCauses(container, volumes, `${at}.volumeMounts`));
  for (const [index, { name: device }] of (container.volumeDevices ?? []).entries()) if (!volumes.has(device)) causes.push(notFoundValue(`${at}.volumeDevices[${index}].name`, device));
  causes.push(...resourceCauses(resources, `${at}.resources`));
  return securityContext === undefined ? causes : [...causes, ...securityCauses(securityContext, `${at}.securityContext`)];
}

function probesAndLifecycle(container: Container, at: string, graceSeconds: number): Cause[] {
  return [
    ...(container.lifecycle === undefined ? [] : lifecycleCauses(container.lifecycle, graceSeconds, `${at}.lifecycle`)),
    ...(['liveness', 'readiness', 'startup'] as const).flatMap((use) => probeCauses(container[`${use}Probe`], use, graceSeconds, `${at}.${use}Probe`)),
  ];
}

export function containerCauses({ containers, terminationGracePeriodSeconds: grace }: PodSpec, field: string, place: Place): Cause[] {
  if (containers.length === 0) return [required(field, '')];
  const names = new Set<string>();
  const causes = containers.flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const found = commonCauses(container, at, place);
    if (names.has(container.name)) found.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    found.push(...probesAndLifecycle(container, at, grace));
    if (container.restartPolicy !== undefined) found.push(forbiddenField(`${at}.restartPolicy`, 'may not be set for non-init containers'));
    return found;
  });
  return [...causes, ...hostPortCauses(containers, field)];
}

export function initContainerCauses({ initContainers = [], containers, terminationGracePeriodSeconds: grace }: PodSpec, field: string, place: Place): Cause[] {
  const names = new Set(containers.map(({ name }) => name));
  return initContainers.flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const causes = commonCauses(container, at, place);
    if (names.has(container.name)) causes.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    causes.push(...hostPortCauses([container], field));
    // A sidecar runs as long as the pod and can be looked after like the others.
    if (container.restartPolicy === 'Always') return [...causes, ...probesAndLifecycle(container, at, grace)];
    const others = (['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const).filter((member) => container[member] !== undefined);
    return [...causes, ...others.map((member) => forbiddenField(`${at}.${member}`, 'may not be set for init containers without restartPolicy=Always'))];
  });
}

/** What a container that only looks in cannot have. */
const notEphemeral = ['ports', 'livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'] as const;

export function ephemeralContainerCauses({ ephemeralContainers = [], containers, initContainers = [] }: PodSpec, field: string, place: Place): Cause[] {
  const others = new Set([...containers, ...initContainers].map(({ name }) => name));
  const names = new Set(others);
  return ephemeralContainers.flatMap((container, index) => {
    const at = `${field}[${index}]`;
    const causes = commonCauses(container, at, place);
    if (names.has(container.name)) causes.push(duplicate(`${at}.name`, container.name));
    names.add(container.name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !others.has(target)) causes.push(notFoundValue(`${at}.targetContainerName`, target));
    const set = notEphemeral.filter((member) => container[member] !== undefined);
    causes.push(...set.map((member) => forbiddenField(`${at}.${member}`, 'cannot be set for an Ephemeral Container')));
    if (Object.keys({ ...container.resources.limits, ...container.resources.requests }).length > 0) causes.push(forbiddenField(`${at}.resources`, 'cannot be set for an Ephemeral Container'));
    if (container.restartPolicy !== undefined) causes.push(forbiddenField(`${at}.restartPolicy`, 'may not be set for non-init containers'));
    return causes;
  });
}
