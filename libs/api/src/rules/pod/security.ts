import type { Cause } from '../../kind.ts';
import type { PodSecurityContext, SecurityContext } from '../../kinds/pod/security.ts';
import { duplicate, inRange, invalidValue, required, Verbatim } from '../causes.ts';

const highestId = 2_147_483_647;
const ids = (field: string, of: { readonly runAsUser?: number | undefined; readonly runAsGroup?: number | undefined }): Cause[] => [
  ...inRange(`${field}.runAsUser`, of.runAsUser, 0, highestId),
  ...inRange(`${field}.runAsGroup`, of.runAsGroup, 0, highestId),
];

export function securityCauses(context: SecurityContext, field: string): Cause[] {
  const causes = [...ids(field, context), ...profileCauses(context.seccompProfile, `${field}.seccompProfile`)];
  if (context.allowPrivilegeEscalation === false) {
    // Kubernetes prints the whole struct here, with addresses in it.
    const shown = new Verbatim(JSON.stringify(context));
    if (context.privileged === true) causes.push(invalidValue(field, shown, 'cannot set `allowPrivilegeEscalation` to false and `privileged` to true'));
    if ((context.capabilities?.add ?? []).includes('CAP_SYS_ADMIN')) causes.push(invalidValue(field, shown, 'cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN'));
  }
  return causes;
}

export function podSecurityCauses(context: PodSecurityContext, field: string): Cause[] {
  const causes = [...inRange(`${field}.fsGroup`, context.fsGroup, 0, highestId), ...ids(field, context)];
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) causes.push(...inRange(`${field}.supplementalGroups[${index}]`, group, 0, highestId));
  const names = new Set<string>();
  for (const [index, { name }] of (context.sysctls ?? []).entries()) {
    const at = `${field}.sysctls[${index}].name`;
    if (name === '') causes.push(required(at, ''));
    else if (!/^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/.test(name)) causes.push(invalidValue(at, name, 'must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$'));
    else if (names.has(name)) causes.push(duplicate(at, name));
    names.add(name);
  }
  return [...causes, ...profileCauses(context.seccompProfile, `${field}.seccompProfile`)];
}

function profileCauses(profile: SecurityContext['seccompProfile'], field: string): Cause[] {
  if (profile === undefined) return [];
  const { type, localhostProfile } = profile;
  if (type === 'Localhost' && localhostProfile === undefined) return [required(`${field}.localhostProfile`, 'must be set when seccomp type is Localhost ')];
  if (type !== 'Localhost' && localhostProfile !== undefined) return [invalidValue(`${field}.localhostProfile`, localhostProfile, 'can only be set when seccomp type is Localhost')];
  return [];
}
