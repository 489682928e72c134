/**
 * Messages that clients send, as in Kubernetes' own `generated.proto` files. One row per message, `name=number:type` per field:
 * - type: `str`, `bool`, `int32`, `int64`, `bytes`, or a message: one of these rows or one of the well-known ones (decode.ts)
 * - `type[]` is a list, `map<str,type>` a map
 * - `type?` is a pointer in Go: nil is not sent, so a zero that was sent is meant. Go sends all other scalars always, and a
 *   zero means "not set". (Messages need no mark: an empty one is `{}` in Go's JSON, too.)
 * - `...name` is inlined in JSON: its members stand beside its neighbours
 * A field that has no row is skipped, as Kubernetes skips those that it does not know. What only answers carry has none.
 */
export const messages = {
  Unknown: 'typeMeta=1:TypeMeta raw=2:bytes contentEncoding=3:str contentType=4:str',
  TypeMeta: 'apiVersion=1:str kind=2:str',

  ObjectMeta:
    'name=1:str generateName=2:str namespace=3:str selfLink=4:str uid=5:str resourceVersion=6:str generation=7:int64 creationTimestamp=8:Time deletionTimestamp=9:Time deletionGracePeriodSeconds=10:int64? labels=11:map<str,str> annotations=12:map<str,str> ownerReferences=13:OwnerReference[] finalizers=14:str[] managedFields=17:ManagedFieldsEntry[]',
  OwnerReference: 'kind=1:str name=3:str uid=4:str apiVersion=5:str controller=6:bool? blockOwnerDeletion=7:bool?',
  ManagedFieldsEntry: 'manager=1:str operation=2:str apiVersion=3:str time=4:Time fieldsType=6:str fieldsV1=7:FieldsV1 subresource=8:str',
  LabelSelectorRequirement: 'key=1:str operator=2:str values=3:str[]',
  FieldSelectorRequirement: 'key=1:str operator=2:str values=3:str[]',
  DeleteOptions: 'gracePeriodSeconds=1:int64? preconditions=2:Preconditions orphanDependents=3:bool? propagationPolicy=4:str? dryRun=5:str[] ignoreStoreReadErrorWithClusterBreakingPotential=6:bool?',
  Preconditions: 'uid=1:str? resourceVersion=2:str?',

  Namespace: 'metadata=1:ObjectMeta spec=2:NamespaceSpec status=3:NamespaceStatus',
  NamespaceSpec: 'finalizers=1:str[]',
  NamespaceStatus: 'phase=1:str conditions=2:NamespaceCondition[]',
  NamespaceCondition: 'type=1:str status=2:str lastTransitionTime=4:Time reason=5:str message=6:str',
  ConfigMap: 'metadata=1:ObjectMeta data=2:map<str,str> binaryData=3:map<str,bytes> immutable=4:bool?',
  Secret: 'metadata=1:ObjectMeta data=2:map<str,bytes> type=3:str stringData=4:map<str,str> immutable=5:bool?',

  SelfSubjectAccessReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec',
  SelfSubjectAccessReviewSpec: 'resourceAttributes=1:ResourceAttributes nonResourceAttributes=2:NonResourceAttributes',
  ResourceAttributes: 'namespace=1:str verb=2:str group=3:str version=4:str resource=5:str subresource=6:str name=7:str fieldSelector=8:FieldSelectorAttributes labelSelector=9:LabelSelectorAttributes',
  FieldSelectorAttributes: 'rawSelector=1:str requirements=2:FieldSelectorRequirement[]',
  LabelSelectorAttributes: 'rawSelector=1:str requirements=2:LabelSelectorRequirement[]',
  NonResourceAttributes: 'path=1:str verb=2:str',
  SelfSubjectRulesReview: 'metadata=1:ObjectMeta spec=2:SelfSubjectRulesReviewSpec',
  SelfSubjectRulesReviewSpec: 'namespace=1:str',
  SelfSubjectReview: 'metadata=1:ObjectMeta',
} satisfies MessageRows;

/** What may be the whole of a body: message by `<apiVersion> <kind>`, or by `<kind>` alone where every group has it. */
export const bodies = {
  DeleteOptions: 'DeleteOptions',
  'v1 Namespace': 'Namespace',
  'v1 ConfigMap': 'ConfigMap',
  'v1 Secret': 'Secret',
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
