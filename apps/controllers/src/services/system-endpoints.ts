import { isIPv6 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { natsService, nodeNetworkAnnotations, serviceKeyOf, systemServices, type EndpointSubset, type Node, type Service } from '@roundsman/api';
import { byKey, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { readiness } from '../nodes/taints.ts';
import { controllerReference } from '../owner.ts';
import { endpointsManagedByLabel, managedByLabel } from './labels.ts';
import type { SliceContent } from './slices/slice-plan.ts';
import { SliceWriter } from './slices/slice-writer.ts';

const managedBy = 'system-endpoints.roundsman.io';

/** Where a node answers for the service: name of the port (absent: every port of the service) -> addresses, each `10.0.0.1:53` or `[fd00::1]:53`. */
type Answers = readonly { readonly port?: string; readonly address: string; readonly number: number }[];

/** By key of the service: how a node says where it answers. */
const told: Readonly<Record<string, (node: Node) => Answers>> = {
  [`${systemServices.namespace}/${systemServices.dns}`]: ({ metadata }) => answersOf(metadata.annotations?.[nodeNetworkAnnotations.dns]),
  [`${systemServices.namespace}/${systemServices.ingress}`]: ({ metadata }) => answersOf(metadata.annotations?.[nodeNetworkAnnotations.ingress]),
  [`${natsService.namespace}/${natsService.name}`]: ({ metadata }) => answersOf(metadata.annotations?.[nodeNetworkAnnotations.nats]),
};

/** The endpoints of the cluster's own services: the nodes that say where they answer, a slice for each, so that one node's state is told without the others'. */
export function systemEndpoints(deps: Deps): LoopDefinition {
  const { caches, objects } = deps;
  const slices = new SliceWriter(deps);
  const services = Object.keys(told);

  /** For those who read Endpoints. */
  async function tellOldForm(service: Service, subsets: EndpointSubset[]): Promise<void> {
    const { namespace, name } = service.metadata;
    const stored = caches.endpoints.get(namespace, name);
    const labels = { [endpointsManagedByLabel]: managedBy };
    const ownerReferences = [controllerReference(service)];
    if (stored === undefined) await objects.create(caches.endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata: { namespace, name, labels, ownerReferences }, subsets });
    else if (!isDeepStrictEqual([stored.subsets ?? [], stored.metadata.labels, stored.metadata.ownerReferences], [subsets, labels, ownerReferences])) {
      await objects.update(caches.endpoints, { ...stored, subsets, metadata: { ...stored.metadata, labels, ownerReferences } });
    }
  }

  return {
    name: 'system-endpoints',
    keys: () => services,
    wakes: [
      onChange(caches.nodes, ({ type, object, before }) => (before !== undefined && type !== 'DELETED' && newsOf(before) === newsOf(object) ? [] : services)),
      (wake) => onOwnChange(caches.services)((key) => services.includes(key) && wake(key)),
      onChange(caches.endpoints, ({ object }) => (services.includes(objectKey(object)) ? [objectKey(object)] : [])),
      onChange(caches.endpointSlices, ({ object }) => (object.metadata.labels?.[managedByLabel] === managedBy ? [serviceKeyOf(object) ?? ''] : [])),
    ],
    async reconcile(key) {
      const service = services.includes(key) ? byKey(caches.services, key) : undefined;
      const answers = told[key];
      // What it owned goes with it.
      if (service === undefined || answers === undefined || service.metadata.deletionTimestamp !== undefined) return;
      const wanted = new Map(caches.nodes.list().flatMap((node) => contentsOf(service, node, answers(node))));
      await slices.bringNamed({ owner: service, service: service.metadata.name, managedBy, labels: {}, annotations: {} }, wanted);
      await tellOldForm(service, subsetsFrom([...wanted.values()], service.spec.ipFamilies?.[0] ?? 'IPv4'));
    },
  };
}

const newsOf = (node: Node): string => {
  const { uid, annotations } = node.metadata;
  return JSON.stringify([uid, readiness(node), annotations?.[nodeNetworkAnnotations.dns], annotations?.[nodeNetworkAnnotations.ingress], annotations?.[nodeNetworkAnnotations.nats]]);
};

function answersOf(text: string | undefined): Answers {
  return (text ?? '').split(',').flatMap((one) => {
    const [, port, six, four, number] = /^(?:([a-z0-9-]+)=)?(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(one.trim()) ?? [];
    const address = six ?? four;
    return address === undefined ? [] : [{ ...(port === undefined ? {} : { port }), address, number: Number(number) }];
  });
}

/** By name: one slice for each address at which the node answers. */
export function contentsOf({ metadata, spec }: Service, node: Node, answers: Answers): [string, SliceContent][] {
  // A node asks itself where traffic stays on it: that the control plane does not hear the node says nothing about that way. Nor does it about NATS, by which it would be heard.
  const ready = spec.internalTrafficPolicy === 'Local' || spec.publishNotReadyAddresses === true || readiness(node) === 'True';
  const addresses = [...new Set(answers.map(({ address }) => address))];
  return addresses.map((address, index): [string, SliceContent] => {
    const ports = (spec.ports ?? []).flatMap(({ name = '', protocol, appProtocol }) => {
      const answer = answers.find((one) => one.address === address && (one.port ?? name) === name);
      return answer === undefined ? [] : [{ name, protocol, port: answer.number, ...(appProtocol === undefined ? {} : { appProtocol }) }];
    });
    const endpoints = [{ addresses: [address], conditions: { ready, serving: ready, terminating: false }, nodeName: node.metadata.name, targetRef: { kind: 'Node', name: node.metadata.name, uid: node.metadata.uid } }];
    // Behind the node's name a number could make it another node's.
    return [`${metadata.name}${index === 0 ? '' : index + 1}-${node.metadata.name}`, { addressType: isIPv6(address) ? 'IPv6' : 'IPv4', ports, endpoints }];
  });
}

/** The same in the older form, of one family. */
function subsetsFrom(contents: readonly SliceContent[], family: 'IPv4' | 'IPv6'): EndpointSubset[] {
  const subsets = new Map<string, EndpointSubset>();
  for (const { addressType, ports, endpoints } of contents) {
    if (addressType !== family) continue;
    const told = ports.map(({ name, protocol, port, appProtocol }) => ({ ...(name === '' ? {} : { name }), port: port ?? 0, protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }));
    const subset = subsets.get(JSON.stringify(told)) ?? { ports: told };
    subsets.set(JSON.stringify(told), subset);
    for (const { addresses, conditions, nodeName, targetRef } of endpoints) {
      const list = conditions.ready === true ? (subset.addresses ??= []) : (subset.notReadyAddresses ??= []);
      list.push(...addresses.map((ip) => ({ ip, ...(nodeName === undefined ? {} : { nodeName }), ...(targetRef === undefined ? {} : { targetRef }) })));
    }
  }
  return [...subsets.values()];
}
