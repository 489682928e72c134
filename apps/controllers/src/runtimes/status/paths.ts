import { isIP } from 'node:net';
import { runtimeServicePorts, type Ingress, type IngressClass, type Node, type RuntimePaths, type RuntimeService, type Service } from '@roundsman/api';
import { ingressHostOf, ingressPath } from '../manifests/ingress.ts';
import { serviceNameOf } from '../manifests/services.ts';
import type { Observation } from './observation.ts';

const isBalancerAddress = ({ ip, hostname }: { ip?: string | undefined; hostname?: string | undefined }): boolean => (ip ?? '') !== '' || (hostname ?? '') !== '';
const balancerAddresses = (entries: readonly { ip?: string | undefined; hostname?: string | undefined }[] | undefined): { ip?: string; hostname?: string }[] =>
  (entries ?? []).filter(isBalancerAddress).map(({ ip, hostname }) => ((ip ?? '') !== '' ? { ip: ip as string } : { hostname: hostname as string }));

/** The IngressClass that it names and that is not there: whoever served it does not any more, whatever address it still shows. */
export function missingClassOf({ spec: { ingressClassName: name } }: Ingress, classes: readonly IngressClass[]): string | undefined {
  return name === undefined || classes.some(({ metadata }) => metadata.name === name) ? undefined : name;
}

/** The ways to the runners, as far as they are there. */
export function pathsOf({ runtime, services, ingress, ingressClasses, nodes }: Observation): RuntimePaths {
  const { families, workload = runtime.metadata.name } = runtime.spec;
  const found = families.flatMap((family): RuntimeService[] => {
    const service = services.find(({ metadata }) => metadata.name === serviceNameOf(workload, family));
    return service === undefined ? [] : [pathOf(service, family)];
  });
  return {
    services: found,
    ...(found.some(({ nodePort }) => nodePort !== undefined) ? { nodes: nodes.map(addressesOf).sort((a, b) => (a.name < b.name ? -1 : 1)) } : {}),
    ...(ingress === undefined ? {} : { ingress: { name: ingress.metadata.name, host: ingressHostOf(runtime), path: ingressPath, tls: false, addresses: missingClassOf(ingress, ingressClasses) === undefined ? balancerAddresses(ingress.status?.loadBalancer?.ingress) : [] } }),
  };
}

function pathOf({ metadata, spec, status }: Service, family: RuntimeService['family']): RuntimeService {
  const { clusterIP, ports = [], type } = spec;
  const nodePort = ports.find(({ name }) => name === 'http')?.nodePort;
  const loadBalancer = balancerAddresses(status?.loadBalancer.ingress);
  return {
    family,
    name: metadata.name,
    ...(clusterIP === undefined || clusterIP === '' || clusterIP === 'None' ? {} : { clusterIP }),
    port: runtimeServicePorts.http,
    ...(nodePort === undefined || nodePort === 0 ? {} : { nodePort }),
    ...(type === 'LoadBalancer' && loadBalancer.length > 0 ? { loadBalancer } : {}),
  };
}

function addressesOf({ metadata, status }: Node): NonNullable<RuntimePaths['nodes']>[number] {
  const addresses = (status?.addresses ?? []).filter(({ type, address }) => type === 'InternalIP' && isIP(address) !== 0);
  return { name: metadata.name, addresses: addresses.map(({ address }) => ({ family: isIP(address) === 4 ? 'v4' : 'v6', address })) };
}
