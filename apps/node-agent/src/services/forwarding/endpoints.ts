import type { Endpoint, EndpointSlice, ServicePort } from '@roundsman/api';
import type { ForwardedEndpoint, ForwardedPort } from './table.ts';

interface Found extends ForwardedEndpoint {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly local: boolean;
}

type Chosen = Pick<ForwardedPort, 'endpoints' | 'localEndpoints' | 'serving'>;

/** The endpoints of one port of a Service in one family, as kube-proxy chooses them: those ready; where none is, those that end but still serve. */
export function endpointsOf(slices: readonly EndpointSlice[], family: ForwardedPort['family'], port: ServicePort, isLocal: (node: string) => boolean): Chosen {
  const found = new Map<string, Found>();
  for (const slice of slices) {
    if (slice.addressType !== family) continue;
    for (const { name, protocol, port: number } of slice.ports) {
      if (number === undefined || (name ?? '') !== (port.name ?? '') || (protocol ?? 'TCP') !== port.protocol) continue;
      for (const endpoint of slice.endpoints) {
        const next = foundOf(endpoint, number, isLocal);
        if (next === undefined) continue;
        const key = `${next.address} ${next.port}`;
        const known = found.get(key);
        // Moved from one slice to another it is in both for a moment: the better word counts.
        if (known === undefined || rank(next) > rank(known)) found.set(key, next);
      }
    }
  }
  const all = [...found.values()].sort((a, b) => compare(a.address, b.address) || a.port - b.port);
  return { endpoints: usable(all), localEndpoints: usable(all.filter(({ local }) => local)), serving: all.filter(({ ready, serving }) => ready || serving).map(plain) };
}

function foundOf({ addresses, conditions, nodeName }: Endpoint, port: number, isLocal: (node: string) => boolean): Found | undefined {
  const [address] = addresses;
  if (address === undefined) return undefined;
  const ready = conditions?.ready ?? true;
  return { address, port, ready, serving: conditions?.serving ?? ready, terminating: conditions?.terminating ?? false, local: nodeName !== undefined && isLocal(nodeName) };
}

function usable(found: readonly Found[]): ForwardedEndpoint[] {
  const ready = found.filter((endpoint) => endpoint.ready);
  return (ready.length > 0 ? ready : found.filter(({ serving, terminating }) => serving && terminating)).map(plain);
}

const rank = ({ ready, serving }: Found): number => (ready ? 2 : serving ? 1 : 0);
const plain = ({ address, port }: Found): ForwardedEndpoint => ({ address, port });
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
