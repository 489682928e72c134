import { isPodEnded, type Endpoint, type EndpointPort, type EndpointSlice, type Pod, type Service } from '@roundsman/api';
import { addressOf, isServing, placeOf, targetPortOf, zoneOf, type NodeOf } from '../pods/service-pods.ts';

/** Endpoints that may share a slice: of one type, with the same ports. */
export interface SliceGroup {
  readonly addressType: EndpointSlice['addressType'];
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** What is to be in the slices of a service, by family and by what its ports are on each pod. A family without any has one empty group. */
export function sliceGroupsOf(service: Service, pods: readonly Pod[], nodeOf: NodeOf): SliceGroup[] {
  return (service.spec.ipFamilies ?? ['IPv4']).flatMap((family) => {
    const groups = new Map<string, { ports: EndpointPort[]; endpoints: Endpoint[] }>();
    for (const pod of pods) {
      const address = isPodEnded(pod) ? undefined : addressOf(pod, family);
      if (address === undefined) continue;
      const ports = portsOn(service, pod);
      const key = JSON.stringify(ports);
      const group = groups.get(key) ?? { ports, endpoints: [] };
      groups.set(key, group);
      group.endpoints.push(endpointOf(service, pod, address, nodeOf));
    }
    if (groups.size === 0) return [{ addressType: family, ports: [], endpoints: [] }];
    return [...groups.values()].map((group) => ({ addressType: family, ...group }));
  });
}

function endpointOf(service: Service, pod: Pod, address: string, nodeOf: NodeOf): Endpoint {
  const serving = isServing(pod, nodeOf);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const zone = zoneOf(nodeOf(pod.spec.nodeName ?? ''));
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const near = service.spec.trafficDistribution === 'PreferClose' && ready && zone !== undefined;
  return {
    addresses: [address],
    conditions: { ready, serving, terminating },
    ...placeOf(service, pod),
    ...(zone === undefined ? {} : { zone }),
    ...(near ? { hints: { forZones: [{ name: zone }] } } : {}),
  };
}

/** A port that the pod does not have under its name is left out. */
function portsOn({ spec }: Service, pod: Pod): EndpointPort[] {
  return (spec.ports ?? []).flatMap((servicePort) => {
    const port = targetPortOf(pod, servicePort);
    const { name = '', protocol, appProtocol } = servicePort;
    return port === undefined ? [] : [{ name, protocol, port, ...(appProtocol === undefined ? {} : { appProtocol }) }];
  });
}
