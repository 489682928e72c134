import { runtimeServicePorts, type Runtime } from '@roundsman/api';
import type { Manifest, RuntimeFacts } from './facts.ts';
import { labelsOf, selectorOf } from './labels.ts';

type Family = Runtime['spec']['families'][number];

export const serviceNameOf = (workload: string, family: Family): string => `${workload}-${family}`;

/** Target ports by name: where runners have the networks of their nodes their numbers differ from runtime to runtime. */
const ports = [
  { name: 'http', protocol: 'TCP', port: runtimeServicePorts.http, targetPort: 'http' },
  { name: 'https', protocol: 'TCP', port: runtimeServicePorts.https, targetPort: 'https' },
  { name: 'dns-udp', protocol: 'UDP', port: runtimeServicePorts.dns, targetPort: 'dns-udp' },
  { name: 'dns-tcp', protocol: 'TCP', port: runtimeServicePorts.dns, targetPort: 'dns-tcp' },
  { name: 'dot', protocol: 'TCP', port: runtimeServicePorts.dot, targetPort: 'dot' },
  { name: 'udp', protocol: 'UDP', port: runtimeServicePorts.udp, targetPort: 'udp' },
] as const;

/** One Service per family of the runtime, each of one family alone. `owner`: its workload. */
export function servicesOf({ runtime, agentSpec, serviceType, installation }: RuntimeFacts, owner: object | undefined): Manifest[] {
  return runtime.spec.families.map((family) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: serviceNameOf(runtime.spec.workload, family),
      namespace: runtime.metadata.namespace ?? '',
      labels: labelsOf(runtime, installation),
      ...(agentSpec?.annotation === undefined ? {} : { annotations: agentSpec.annotation }),
      ...(owner === undefined ? {} : { ownerReferences: [owner] }),
    },
    spec: {
      type: serviceType,
      selector: selectorOf(runtime),
      ipFamilyPolicy: 'SingleStack',
      ipFamilies: [family === 'v4' ? 'IPv4' : 'IPv6'],
      ports,
    },
  }));
}
