import { addressAt, ApiError, builtInNamespaces, clusterNetworkConfigMap, defaultClassOf, defaultIngressClassAnnotation, natsService, parseCidr, provisioners, storageAnnotations, systemPriorities, systemServices, type ClusterNetwork, type KubeObject, type Service, type StorageClass } from '@roundsman/api';
import type { Change } from '@roundsman/bus';
import type { WriteRequest } from './admission/outcome.ts';
import type { State } from './state.ts';

interface FirstObject {
  readonly resource: string;
  readonly namespace?: string;
  readonly name: string;
  readonly object: Record<string, unknown>;
}

const descriptions: Readonly<Record<string, string>> = {
  'system-node-critical': 'Used for system critical pods that must not be moved from their current node.',
  'system-cluster-critical': 'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
};

const system = systemServices.namespace;
const dnsName = systemServices.dns;
const ingressName = systemServices.ingress;

/** The Service that every cluster has for its API. Programs know its name, and whoever tests DNS asks for it; it has no endpoints, since pods get no tokens. */
const apiService = { namespace: 'default', name: 'kubernetes' } as const;

/** At the first address of each range, as Kubernetes has it, unless a Service has got it before. */
function apiServiceObject({ serviceCidrs }: ClusterNetwork, services: readonly KubeObject[]): FirstObject {
  const taken = new Set((services as unknown as Service[]).flatMap(({ spec }) => spec.clusterIPs ?? []));
  const first = serviceCidrs.slice(0, 1).map((range) => addressAt(parseCidr(range), 1n));
  const clusterIP = first.some((address) => taken.has(address)) ? {} : { clusterIP: first[0], clusterIPs: first };
  return {
    resource: 'services',
    ...apiService,
    object: { metadata: { name: apiService.name, labels: { component: 'apiserver', provider: 'kubernetes' } }, spec: { ...clusterIP, ipFamilyPolicy: 'SingleStack', ports: [{ name: 'https', port: 443, targetPort: 6443 }] } },
  };
}

/** The cluster's own Services: their endpoints are the nodes that say where they answer (`controllers`). */
const systemObjects = ({ dnsAddresses }: ClusterNetwork): FirstObject[] => [
  {
    resource: 'services',
    namespace: system,
    name: dnsName,
    object: {
      metadata: { name: dnsName, labels: { 'k8s-app': dnsName, 'kubernetes.io/name': dnsName } },
      spec: {
        clusterIP: dnsAddresses[0],
        clusterIPs: dnsAddresses,
        ipFamilyPolicy: dnsAddresses.length > 1 ? 'RequireDualStack' : 'SingleStack',
        // No node depends on another for names.
        internalTrafficPolicy: 'Local',
        ports: [{ name: 'dns', port: 53, protocol: 'UDP' }, { name: 'dns-tcp', port: 53, protocol: 'TCP' }],
      },
    },
  },
  {
    resource: 'services',
    namespace: system,
    name: ingressName,
    object: {
      metadata: { name: ingressName, labels: { 'app.kubernetes.io/name': ingressName } },
      spec: { type: 'LoadBalancer', ipFamilyPolicy: 'PreferDualStack', ports: [{ name: 'http', port: 80 }, { name: 'https', port: 443 }] },
    },
  },
  {
    resource: 'services',
    namespace: natsService.namespace,
    name: natsService.name,
    object: {
      metadata: { name: natsService.name, labels: { 'app.kubernetes.io/name': natsService.name } },
      // Who looks for it there is about to be heard, whatever is heard of its node now.
      spec: { ipFamilyPolicy: 'PreferDualStack', publishNotReadyAddresses: true, ports: [{ name: 'nats', port: natsService.port }] },
    },
  },
  {
    resource: 'ingressclasses.networking.k8s.io',
    name: 'roundsman',
    object: { metadata: { name: 'roundsman', annotations: { [defaultIngressClassAnnotation]: 'true' } }, spec: { controller: 'roundsman.io/ingress' } },
  },
];

const namespaces: FirstObject[] = builtInNamespaces.map((name) => ({ resource: 'namespaces', name, object: { metadata: { name } } }));
const priorities: FirstObject[] = Object.entries(systemPriorities).map(([name, value]) => ({ resource: 'priorityclasses.scheduling.k8s.io', name, object: { metadata: { name }, value, description: descriptions[name] } }));

const storageClasses = 'storageclasses.storage.k8s.io';
/** Claims that name no class get a directory on the node of the pod that uses them first, unless somebody has said what else they get. */
const localStorage = (isDefault: boolean): FirstObject => ({
  resource: storageClasses,
  name: 'local',
  object: {
    metadata: { name: 'local', ...(isDefault && { annotations: { [storageAnnotations.defaultClass]: 'true' } }) },
    provisioner: provisioners.local,
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  },
});

/** Whether a change takes away what no cluster does without: such a Service is made again at once, as Kubernetes does with its own. What else a person deletes is back with the next start. */
export const isMissed = ({ type, resource, namespace, name }: Pick<Change, 'type' | 'resource' | 'namespace' | 'name'>): boolean =>
  type === 'DELETED' && resource === 'services' && ((namespace === system && (name === dnsName || name === ingressName)) || (namespace === natsService.namespace && name === natsService.name) || (namespace === apiService.namespace && name === apiService.name));

/** Makes what every cluster has, where it is missing, and writes down the addresses of the cluster. */
export async function ensureFirstObjects(state: State, network: ClusterNetwork, submit: (write: WriteRequest) => Promise<unknown>): Promise<void> {
  const write = (operation: 'create' | 'update', one: FirstObject): Promise<unknown> => submit({ operation, fieldValidation: 'Strict', dryRun: false, user: 'system:roundsman:intake', ...one });
  const missing = [...namespaces, ...priorities, localStorage(defaultClassOf(state.list(storageClasses) as unknown as StorageClass[]) === undefined), ...systemObjects(network), apiServiceObject(network, state.list('services'))].filter(({ resource, namespace, name }) => state.get(resource, namespace, name) === undefined);
  const { namespace, name, key } = clusterNetworkConfigMap;
  const known = state.get('configmaps', namespace, name);
  const addresses: FirstObject = { resource: 'configmaps', namespace, name, object: { metadata: { name, namespace }, data: { [key]: JSON.stringify(network, undefined, 2) } } };
  // Two deletions shortly after one another are put right by two calls.
  const create = (one: FirstObject): Promise<unknown> =>
    write('create', one).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.status.reason !== 'AlreadyExists') throw error;
    });
  await Promise.all([...missing.map(create), write(known === undefined ? 'create' : 'update', addresses)]);
}
