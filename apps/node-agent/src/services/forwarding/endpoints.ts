import type { Endpoint, EndpointSlice, ServicePort } from '@roundsman/api';
import type { ForwardedEndpoint, ForwardedPort } from './table.ts';

/** Where a table is used. */
export interface Place {
  /** Whether a node's endpoints are here. */
  readonly isLocal: (node: string) => boolean;
  /** Undefined: it is in none. */
  readonly zone: string | undefined;
}

interface Found extends ForwardedEndpoint {
  readonly ready: boolean;
  readonly serving: boolean;
  readonly terminating: boolean;
  readonly local: boolean;
  /** Zones whose clients had better use it (`spec.trafficDistribution`). */
  readonly zones: readonly string[];
}

type Chosen = Pick<ForwardedPort, 'endpoints' | 'localEndpoints' | 'serving'>;

/** The endpoints of one port of a Service in one family, as kube-proxy chooses them: those ready, of these the ones for this zone where each names zones and some are for this one; where none is ready, those that end but still serve. */
export function endpointsOf(slices: readonly EndpointSlice[], family: ForwardedPort['family'], port: ServicePort, here: Place): Chosen {
  const found = new Map<string, Found>();
  for (const slice of slices) {
    if (slice.addressType !== family) continue;
    for (const { name, protocol, port: number } of slice.ports) {
      if (number === undefined || (name ?? '') !== (port.name ?? '') || (protocol ?? 'TCP') !== port.protocol) continue;
      for (const endpoint of slice.endpoints) {
        const next = foundOf(endpoint, number, here);
        if (next === undefined) continue;
        const key = `${next.address} ${next.port}`;
        const known = found.get(key);
        // Moved from one slice to another it is in both for a moment: the better word counts.
        if (known === undefined || rank(next) > rank(known)) found.set(key, next);
      }
    }
  }
  const all = [...found.values()].sort((a, b) => compare(a.address, b.address) || a.port - b.port);
  return { endpoints: usable(near(all, here.zone)), localEndpoints: usable(all.filter(({ local }) => local)), serving: all.filter(({ ready, serving }) => ready || serving).map(plain) };
}

function foundOf({ addresses, conditions, nodeName, hints }: Endpoint, port: number, { isLocal }: Place): Found | undefined {
  const [address] = addresses;
  if (address === undefined) return undefined;
  const ready = conditions?.ready ?? true;
  return { address, port, ready, serving: conditions?.serving ?? ready, terminating: conditions?.terminating ?? false, local: nodeName !== undefined && isLocal(nodeName), zones: (hints?.forZones ?? []).map(({ name }) => name) };
}

/** One ready endpoint that names no zone says that hints cannot be relied on yet. */
function near(all: readonly Found[], zone: string | undefined): readonly Found[] {
  const ready = all.filter((one) => one.ready);
  if (zone === undefined || !ready.every(({ zones }) => zones.length > 0)) return all;
  const chosen = ready.filter(({ zones }) => zones.includes(zone));
  return chosen.length === 0 ? all : chosen;
}

function usable(found: readonly Found[]): ForwardedEndpoint[] {
  const ready = found.filter((endpoint) => endpoint.ready);
  return (ready.length > 0 ? ready : found.filter(({ serving, terminating }) => serving && terminating)).map(plain);
}

const rank = ({ ready, serving }: Found): number => (ready ? 2 : serving ? 1 : 0);
const plain = ({ address, port }: Found): ForwardedEndpoint => ({ address, port });
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
