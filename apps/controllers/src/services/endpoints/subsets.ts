import { isPodEnded, type EndpointAddress, type EndpointSubset, type Pod, type Service } from '@roundsman/api';
import { addressOf, isServing, placeOf, targetPortOf, type NodeOf } from '../pods/service-pods.ts';

/** Addresses in one Endpoints object, as in Kubernetes. */
export const addressLimit = 1000;

type Port = NonNullable<EndpointSubset['ports']>[number];
interface Told {
  readonly address: EndpointAddress;
  readonly ready: boolean;
}

/** What an Endpoints object is to say of a service, in one order whatever that of the pods; addresses are of the service's first family. */
export function subsetsOf(service: Service, pods: readonly Pod[], nodeOf: NodeOf): { subsets: EndpointSubset[]; truncated: boolean } {
  const tolerant = service.spec.publishNotReadyAddresses === true;
  const family = service.spec.ipFamilies?.[0] ?? 'IPv4';
  const seen = pods.flatMap((pod): (Told & { pod: Pod })[] => {
    const ip = isPodEnded(pod) || (pod.metadata.deletionTimestamp !== undefined && !tolerant) ? undefined : addressOf(pod, family);
    return ip === undefined ? [] : [{ pod, ready: tolerant || isServing(pod, nodeOf), address: { ip, ...placeOf(service, pod) } }];
  });
  // Those that are ready go first where not all can stay.
  seen.sort((a, b) => Number(b.ready) - Number(a.ready) || orderOf(a, b));
  const kept = seen.slice(0, addressLimit);
  return { subsets: packed(service, kept), truncated: kept.length < seen.length };
}

/** Ports that have the same addresses are one subset. */
function packed({ spec }: Service, seen: readonly (Told & { pod: Pod })[]): EndpointSubset[] {
  if (seen.length === 0) return [];
  const { ports = [] } = spec;
  if (ports.length === 0) return [subset(seen, [])];
  const byPort = new Map<string, { port: Port; told: Told[] }>();
  for (const one of seen) {
    for (const { name, appProtocol, protocol, ...servicePort } of ports) {
      const number = targetPortOf(one.pod, { protocol, ...servicePort });
      if (number === undefined) continue;
      const port: Port = { ...(name === undefined ? {} : { name }), port: number, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) };
      const key = JSON.stringify(port);
      const known = byPort.get(key) ?? { port, told: [] };
      byPort.set(key, known);
      known.told.push(one);
    }
  }
  const byAddresses = new Map<string, { told: Told[]; ports: Port[] }>();
  for (const { port, told } of byPort.values()) {
    const key = told.map(({ address }) => `${address.ip} ${address.targetRef?.uid}`).join(',');
    const known = byAddresses.get(key) ?? { told, ports: [] };
    byAddresses.set(key, known);
    known.ports.push(port);
  }
  return [...byAddresses.values()].map(({ told, ports: its }) => subset(told, its.sort((a, b) => a.port - b.port || ((a.name ?? '') < (b.name ?? '') ? -1 : 1))));
}

function subset(told: readonly Told[], ports: readonly Port[]): EndpointSubset {
  const of = (ready: boolean): EndpointAddress[] => told.filter((one) => one.ready === ready).map(({ address }) => address);
  const [addresses, notReadyAddresses] = [of(true), of(false)];
  return { ...(addresses.length === 0 ? {} : { addresses }), ...(notReadyAddresses.length === 0 ? {} : { notReadyAddresses }), ...(ports.length === 0 ? {} : { ports: [...ports] }) };
}

const orderOf = (a: Told, b: Told): number => {
  const [x, y] = [a.address, b.address].map(({ ip, targetRef }) => `${ip.split('.').map((part) => part.padStart(3, '0')).join('.')} ${targetRef?.uid}`);
  return x! < y! ? -1 : 1;
};
