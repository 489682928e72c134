import { autoscalingMessages } from './messages/autoscaling.ts';
import { claimMessages } from './messages/claim.ts';
import { clusterMessages } from './messages/cluster.ts';
import { metaMessages } from './messages/meta.ts';
import { networkMessages } from './messages/network.ts';
import { nodeMessages } from './messages/node.ts';
import { podMessages } from './messages/pod.ts';
import { podStatusMessages } from './messages/pod-status.ts';
import { reviewMessages } from './messages/review.ts';
import { volumeMessages } from './messages/volume.ts';
import { workloadMessages } from './messages/workload.ts';

/**
 * Messages that clients send, as in Kubernetes' own `generated.proto` files. One row per message, `name=number:type` per field:
 * - type: `str`, `bool`, `int32`, `int64`, `bytes`, or a message: one of these rows or one of the well-known ones (decode.ts)
 * - `type[]` is a list, `map<str,type>` a map
 * - `type?` is a pointer in Go: nil is not sent, so a zero that was sent is meant. Go sends all other scalars always, and a
 *   zero means "not set"; numbers and flags that Go writes into JSON also when they are zero have the mark, too.
 *   (Messages need no mark: an empty one is `{}` in Go's JSON, too.)
 * - `...name` is inlined in JSON: its members stand beside its neighbours
 * A field that has no row is skipped, as Kubernetes skips those that it does not know. What only answers carry has none.
 */
export const messages = {
  Unknown: 'typeMeta=1:TypeMeta raw=2:bytes contentEncoding=3:str contentType=4:str',
  TypeMeta: 'apiVersion=1:str kind=2:str',

  ...metaMessages,
  ...clusterMessages,
  ...nodeMessages,
  ...podMessages,
  ...podStatusMessages,
  ...volumeMessages,
  ...claimMessages,
  ...workloadMessages,
  ...networkMessages,
  ...autoscalingMessages,
  ...reviewMessages,
} satisfies MessageRows;

/** What may be the whole of a body: message by `<apiVersion> <kind>`, or by `<kind>` alone where every group has it. */
export const bodies = {
  DeleteOptions: 'DeleteOptions',
  'v1 Namespace': 'Namespace',
  'v1 ConfigMap': 'ConfigMap',
  'v1 Secret': 'Secret',
  'v1 Pod': 'Pod',
  'v1 Node': 'Node',
  'v1 ServiceAccount': 'ServiceAccount',
  'v1 Event': 'Event',
  'v1 Binding': 'Binding',
  'v1 Service': 'Service',
  'v1 Endpoints': 'Endpoints',
  'discovery.k8s.io/v1 EndpointSlice': 'EndpointSlice',
  'networking.k8s.io/v1 Ingress': 'Ingress',
  'networking.k8s.io/v1 IngressClass': 'IngressClass',
  'apps/v1 Deployment': 'Deployment',
  'apps/v1 ReplicaSet': 'ReplicaSet',
  'apps/v1 DaemonSet': 'DaemonSet',
  'apps/v1 StatefulSet': 'StatefulSet',
  'apps/v1 ControllerRevision': 'ControllerRevision',
  'batch/v1 Job': 'Job',
  'batch/v1 CronJob': 'CronJob',
  'policy/v1 PodDisruptionBudget': 'PodDisruptionBudget',
  'policy/v1 Eviction': 'Eviction',
  'scheduling.k8s.io/v1 PriorityClass': 'PriorityClass',
  'coordination.k8s.io/v1 Lease': 'Lease',
  'autoscaling/v1 Scale': 'Scale',
  'autoscaling/v1 HorizontalPodAutoscaler': 'HorizontalPodAutoscalerV1',
  'autoscaling/v2 HorizontalPodAutoscaler': 'HorizontalPodAutoscaler',
  'authorization.k8s.io/v1 SelfSubjectAccessReview': 'SelfSubjectAccessReview',
  'authorization.k8s.io/v1 SelfSubjectRulesReview': 'SelfSubjectRulesReview',
  'authentication.k8s.io/v1 SelfSubjectReview': 'SelfSubjectReview',
} satisfies Readonly<Record<string, keyof typeof messages>>;

export type MessageRows = Readonly<Record<string, string>>;
export type BodyRows = Readonly<Record<string, string>>;

export interface MessageField {
  readonly name: string;
  readonly id: number;
  /** Of the value, of each item, or of each value of the map. */
  readonly type: string;
  readonly form: 'one' | 'list' | 'map';
  readonly pointer: boolean;
  readonly inlined: boolean;
}

const fieldForm = /^(?<inlined>\.\.\.)?(?<name>\w+)=(?<id>[1-9]\d*):(?:map<str,(?<value>\w+)>|(?<type>\w+)(?<list>\[\])?)(?<pointer>\?)?$/;

/** The fields of one row. Throws on a row that is not in the form above. */
export function fieldsOf(message: string, row: string): MessageField[] {
  return row.split(' ').map((text) => {
    const groups = fieldForm.exec(text)?.groups;
    if (!groups) throw new TypeError(`protobuf message ${message}: ${JSON.stringify(text)} is not name=number:type`);
    const { inlined, name, id, value, type, list, pointer } = groups as { name: string; id: string } & Record<string, string | undefined>;
    return { name, id: Number(id), type: (value ?? type) as string, form: value === undefined ? (list === undefined ? 'one' : 'list') : 'map', pointer: pointer !== undefined, inlined: inlined !== undefined };
  });
}
