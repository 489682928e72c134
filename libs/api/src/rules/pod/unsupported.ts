import type { Container } from '../../kinds/pod/container.ts';
import type { PodSpec } from '../../kinds/pod/spec.ts';
import { forbiddenField, type Findings } from '../causes.ts';

/**
 * What the small cluster's agents do not do. Where going on would give a container more than it was meant to have, it is refused; the rest
 * is told beside the success.
 */
export function unsupportedByAgents(spec: PodSpec): Findings {
  const causes = spec.hostUsers === false ? [forbiddenField('spec.hostUsers', 'false is not supported here: containers share the user namespace of their machine')] : [];
  const ignored = (field: string, why: string): string => `${field}: ${why}`;
  const warnings = [
    ...profiles(spec.securityContext).map((name) => ignored(`spec.securityContext.${name}`, "is not applied here: containers have Docker's own profile")),
    ...((spec.resourceClaims ?? []).length > 0 ? [ignored('spec.resourceClaims', 'are not served here')] : []),
  ];
  for (const [list, containers] of [['initContainers', spec.initContainers], ['containers', spec.containers]] as const) {
    for (const [index, container] of ((containers ?? []) as Container[]).entries()) {
      const at = `spec.${list}[${index}]`;
      warnings.push(...profiles(container.securityContext).map((name) => ignored(`${at}.securityContext.${name}`, "is not applied here: the container has Docker's own profile")));
      if (container.resources?.limits?.['ephemeral-storage'] !== undefined) warnings.push(ignored(`${at}.resources.limits[ephemeral-storage]`, 'is not enforced here'));
    }
  }
  return { causes, warnings };
}

/** Confinement that is asked for by name; what Docker does by itself (RuntimeDefault) is no matter. */
function profiles(context: { seccompProfile?: { type?: string }; appArmorProfile?: { type?: string }; seLinuxOptions?: object } | undefined): string[] {
  const named = (profile: { type?: string } | undefined): boolean => profile?.type === 'Localhost';
  return [
    ...(named(context?.seccompProfile) ? ['seccompProfile'] : []),
    ...(named(context?.appArmorProfile) ? ['appArmorProfile'] : []),
    ...(context?.seLinuxOptions === undefined ? [] : ['seLinuxOptions']),
  ];
}
