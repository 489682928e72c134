import { nodeNetworkAnnotations, systemServices, type Node, type Service } from '@roundsman/api';
import { byKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { readiness } from '../nodes/taints.ts';
import { isIPv6 } from './service-pods.ts';
import { managedByLabel, serviceKeyOf } from './slice-labels.ts';
import type { SliceContent } from './slice-plan.ts';
import { SliceWriter } from './slice-writer.ts';

const managedBy = 'system-endpoints.roundsman.io';
const { namespace } = systemServices;

/** Where a node answers for the service: name of the port (absent: every port of the service) -> addresses, each `10.0.0.1:53` or `[fd00::1]:53`. */
type Answers = readonly { readonly port?: string; readonly address: string; readonly number: number }[];

/** By name of the service: how a node says where it answers. */
const told: Readonly<Record<string, (node: Node) => Answers>> = {
  [systemServices.dns]: ({ metadata }) => answersOf(metadata.annotations?.[nodeNetworkAnnotations.dns]),
  [systemServices.ingress]: ({ metadata }) => answersOf(metadata.annotations?.[nodeNetworkAnnotations.ingress]),
};

/** The endpoints of the cluster's own services: the nodes that say where they answer, a slice for each, so that one node's state is told without the others'. */
export function systemEndpoints(deps: Deps): LoopDefinition {
  const { caches } = deps;
  const slices = new SliceWriter(deps);
  const services = Object.keys(told).map((name) => `${namespace}/${name}`);

  return {
    name: 'system-endpoints',
    keys: () => services,
    wakes: [
      onChange(caches.nodes, ({ type, object, before }) => (before !== undefined && type !== 'DELETED' && newsOf(before) === newsOf(object) ? [] : services)),
      (wake) => onOwnChange(caches.services)((key) => services.includes(key) && wake(key)),
      onChange(caches.endpointSlices, ({ object }) => (object.metadata.labels?.[managedByLabel] === managedBy ? [serviceKeyOf(object) ?? ''] : [])),
    ],
    async reconcile(key) {
      const service = byKey(caches.services, key);
      const answers = told[service?.metadata.name ?? ''];
      // What it owned goes with it.
      if (service === undefined || answers === undefined || service.metadata.deletionTimestamp !== undefined) return;
      const wanted = new Map(caches.nodes.list().flatMap((node) => contentsOf(service, node, answers(node))));
      await slices.bringNamed({ owner: service, service: service.metadata.name, managedBy, labels: {}, annotations: {} }, wanted);
    },
  };
}

const newsOf = (node: Node): string => {
  const { uid, annotations } = node.metadata;
  return JSON.stringify([uid, readiness(node), annotations?.[nodeNetworkAnnotations.dns], annotations?.[nodeNetworkAnnotations.ingress]]);
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
  const ready = readiness(node) === 'True';
  const addresses = [...new Set(answers.map(({ address }) => address))];
  return addresses.map((address, index): [string, SliceContent] => {
    const ports = (spec.ports ?? []).flatMap(({ name = '', protocol, appProtocol }) => {
      const answer = answers.find((one) => one.address === address && (one.port ?? name) === name);
      return answer === undefined ? [] : [{ name, protocol, port: answer.number, ...(appProtocol === undefined ? {} : { appProtocol }) }];
    });
    const endpoints = [{ addresses: [address], conditions: { ready, serving: ready, terminating: false }, nodeName: node.metadata.name, targetRef: { kind: 'Node', name: node.metadata.name, uid: node.metadata.uid } }];
    return [`${metadata.name}-${node.metadata.name}${index === 0 ? '' : `-${index + 1}`}`, { addressType: isIPv6(address) ? 'IPv6' : 'IPv4', ports, endpoints }];
  });
}
