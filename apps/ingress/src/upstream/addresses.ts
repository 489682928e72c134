import type { EndpointSlice, ServicePort } from '@roundsman/api';
import type { NetworkState } from '@roundsman/network';
import type { ServicePortReference } from '../rules/routes.ts';

export interface Address {
  readonly address: string;
  readonly port: number;
}

/** Where a port of a Service is answered, or why nowhere, as a sentence for whoever asked. */
export type Addresses = { readonly addresses: readonly Address[] } | { readonly problem: string };

/** Read from the Service's EndpointSlices: ready endpoints; when there is none, those that still serve while they end. */
export function addressesOf(state: Pick<NetworkState, 'service' | 'slicesOf'>, { namespace, service: name, port: wanted }: ServicePortReference): Addresses {
  const service = state.service(namespace, name);
  const text = `Service ${namespace}/${name}`;
  if (service === undefined) return { problem: `${text} does not exist` };
  if (service.spec.type === 'ExternalName') return { problem: `${text} is of type ExternalName, and requests are forwarded to endpoints only` };
  const port = (service.spec.ports ?? []).find((one) => (typeof wanted === 'number' ? one.port === wanted : one.name === wanted));
  if (port === undefined) return { problem: `${text} has no port ${wanted}` };
  const slices = state.slicesOf(namespace, name);
  const ready = answering(slices, port, ({ ready = true }) => ready);
  const addresses = ready.length > 0 ? ready : answering(slices, port, ({ serving = false, terminating = false }) => serving && terminating);
  return addresses.length > 0 ? { addresses } : { problem: `${text} has no ready endpoints for port ${wanted}` };
}

function answering(slices: readonly EndpointSlice[], { name = '' }: ServicePort, takes: (conditions: EndpointSlice['endpoints'][number]['conditions']) => boolean): Address[] {
  const found = new Map<string, Address>();
  for (const { addressType, endpoints, ports } of slices) {
    const port = (ports ?? []).find((one) => (one.name ?? '') === name && (one.protocol ?? 'TCP') === 'TCP')?.port;
    if (port === undefined || addressType === 'FQDN') continue;
    for (const { addresses, conditions } of endpoints ?? []) {
      const address = addresses[0];
      if (address !== undefined && takes(conditions ?? {})) found.set(`${address} ${port}`, { address, port });
    }
  }
  return [...found.values()];
}
