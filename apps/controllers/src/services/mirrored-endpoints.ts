import { isIPv6 } from 'node:net';
import { serviceKeyOf, type EndpointAddress, type Endpoints, type KubeObject } from '@roundsman/api';
import { byKey, keysOf, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import type { SliceGroup } from './slices/slice-groups.ts';
import { endpointsManagedByLabel, keepers, managedByLabel, triggerTimeAnnotation } from './labels.ts';
import { SliceWriter } from './slices/slice-writer.ts';

const managedBy = keepers.mirrors;
const skipLabel = 'endpointslice.kubernetes.io/skip-mirror';
/** Of a lock that is kept in an Endpoints object, as older programs do. */
const lockAnnotation = 'control-plane.alpha.kubernetes.io/leader';
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Shows Endpoints that people make for a service without a selector as EndpointSlices: only these are acted on. */
export function mirroredEndpoints(deps: Deps): LoopDefinition {
  const { caches } = deps;
  const slices = new SliceWriter(deps);

  function isMirrored(key: string, { metadata }: KubeObject): boolean {
    const service = byKey(caches.services, key);
    if (service === undefined || Object.keys(service.spec.selector ?? {}).length > 0) return false;
    const keeper = metadata.labels?.[endpointsManagedByLabel];
    // Those of a service that has lost its selector are given up just now.
    const isAbandoned = keeper === undefined || keeper === keepers.endpoints;
    return metadata.labels?.[skipLabel] !== 'true' && isAbandoned && metadata.annotations?.[lockAnnotation] === undefined && metadata.deletionTimestamp === undefined;
  }

  return {
    name: 'endpointslice-mirroring',
    keys: keysOf(caches.endpoints),
    wakes: [
      onOwnChange(caches.endpoints),
      onOwnChange(caches.services),
      onChange(caches.endpointSlices, ({ object }) => (object.metadata.labels?.[managedByLabel] === managedBy ? [serviceKeyOf(object) ?? ''] : [])),
    ],
    async reconcile(key) {
      const endpoints = byKey(caches.endpoints, key);
      if (endpoints === undefined || !isMirrored(key, endpoints)) return slices.remove(slices.of(key, managedBy));
      const { [triggerTimeAnnotation]: _, [lastAppliedAnnotation]: __, ...annotations } = endpoints.metadata.annotations ?? {};
      await slices.bring({ owner: endpoints, service: endpoints.metadata.name, managedBy, labels: { ...endpoints.metadata.labels }, annotations }, mirrorOf(endpoints));
    },
  };
}

/** By subset and family. What is in two subsets with the same ports is told once. */
export function mirrorOf({ subsets = [] }: Endpoints): SliceGroup[] {
  const groups = new Map<string, { group: Omit<SliceGroup, 'endpoints'>; endpoints: Map<string, SliceGroup['endpoints'][number]> }>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const own = ports.map(({ name = '', port, protocol, appProtocol }) => ({ name, protocol, port, ...(appProtocol === undefined ? {} : { appProtocol }) }));
    for (const [all, ready] of [[addresses, true], [notReadyAddresses, false]] as const) {
      for (const address of all) {
        const addressType = isIPv6(address.ip) ? 'IPv6' : 'IPv4';
        const key = JSON.stringify([addressType, own]);
        const known = groups.get(key) ?? { group: { addressType, ports: own }, endpoints: new Map() };
        groups.set(key, known);
        if (!known.endpoints.has(address.ip)) known.endpoints.set(address.ip, endpointOf(address, ready));
      }
    }
  }
  return [...groups.values()].map(({ group, endpoints }) => ({ ...group, endpoints: [...endpoints.values()] }));
}

function endpointOf({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): SliceGroup['endpoints'][number] {
  return {
    addresses: [ip],
    conditions: { ready },
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(targetRef === undefined ? {} : { targetRef }),
  };
}
