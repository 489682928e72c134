import type { Container, EphemeralContainer } from './container.ts';
import type { Probe } from './probe.ts';
import type { ResourceRequirements } from './resources.ts';
import type { PodSpec } from './spec.ts';

/** Defaults of a pod's spec, wherever it stands, that the schema cannot say. Changes `spec`. */
export function completePodSpec(spec: PodSpec): void {
  for (const container of spec.containers) completeContainer(container);
  for (const container of spec.initContainers ?? []) completeContainer(container);
  for (const container of spec.ephemeralContainers ?? []) completeContainer(container);
  // Both names mean the same; the new one goes first.
  const account = spec.serviceAccountName || spec.serviceAccount;
  if (account) {
    spec.serviceAccountName = account;
    spec.serviceAccount = account;
  }
}

/** The defaults that only pods have, not the templates they are made from. Changes `spec`. */
export function completeOwnPodSpec(spec: PodSpec): void {
  completePodSpec(spec);
  spec.enableServiceLinks ??= true;
  for (const containers of [spec.containers, spec.initContainers ?? []]) {
    for (const container of containers) {
      requestLimits(container.resources);
      if (spec.hostNetwork === true) for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
    }
  }
}

function completeContainer(container: Container | EphemeralContainer): void {
  container.imagePullPolicy ??= isLatest(container.image ?? '') ? 'Always' : 'IfNotPresent';
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe]) if (probe !== undefined) completeProbe(probe);
}

/** A zero means "not set". */
function completeProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
}

/** What is limited and not requested is requested as far as it is limited. */
function requestLimits(resources: ResourceRequirements): void {
  if (resources.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

/** The tag is `latest`, or there is neither tag nor digest. */
function isLatest(image: string): boolean {
  if (image.includes('@')) return false;
  const colon = image.lastIndexOf(':');
  const tag = colon > image.lastIndexOf('/') ? image.slice(colon + 1) : '';
  return tag === '' || tag === 'latest';
}
