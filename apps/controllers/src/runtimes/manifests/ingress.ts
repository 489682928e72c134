import { runtimeServicePorts, type Runtime } from '@roundsman/api';
import type { Manifest, RuntimeFacts } from './facts.ts';
import { labelsOf } from './labels.ts';
import { serviceNameOf } from './services.ts';

/** A host that no other rule of the cluster has: requests for it lead to this runtime or nowhere. */
export const ingressHostOf = ({ metadata, spec }: Runtime): string => `${spec.workload ?? metadata.name}.${metadata.namespace ?? ''}.roundsman.internal`;
export const ingressPath = '/';

/** Leads to its Service of the first family; undefined when it is to have none. `owner`: its workload. */
export function ingressOf({ runtime, installation, settings }: RuntimeFacts, owner: object | undefined): Manifest | undefined {
  const family = runtime.spec.families[0];
  if (!runtime.spec.ingress || family === undefined) return undefined;
  const { workload } = runtime.spec;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: workload, namespace: runtime.metadata.namespace ?? '', labels: labelsOf(runtime, installation), ...(owner === undefined ? {} : { ownerReferences: [owner] }) },
    spec: {
      ...(settings.runtimeIngressClass === '' ? {} : { ingressClassName: settings.runtimeIngressClass }),
      rules: [
        {
          host: ingressHostOf(runtime),
          http: { paths: [{ path: ingressPath, pathType: 'Prefix', backend: { service: { name: serviceNameOf(workload, family), port: { number: runtimeServicePorts.http } } } }] },
        },
      ],
    },
  };
}
