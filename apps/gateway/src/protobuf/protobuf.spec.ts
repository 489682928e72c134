import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@roundsman/api';
import { array, assert, boolean, constant, constantFrom, date, dictionary, integer, jsonValue, option, property, record, string, uint8Array, type Arbitrary } from 'fast-check';
import protobuf, { type Type } from 'protobufjs';
import { readBody } from '../http/body.ts';
import { ProtobufBodies } from './decode.ts';
import { bodies, fieldsOf, messages } from './messages.ts';

/** Kubernetes' own words (generated.proto, proto2), so that the rows are not tested by themselves. */
const proto = `syntax = "proto2";
message TypeMeta { optional string apiVersion = 1; optional string kind = 2; }
message Unknown { optional TypeMeta typeMeta = 1; optional bytes raw = 2; optional string contentEncoding = 3; optional string contentType = 4; }
message Time { optional int64 seconds = 1; optional int32 nanos = 2; }
message MicroTime { optional int64 seconds = 1; optional int32 nanos = 2; }
message FieldsV1 { optional bytes Raw = 1; }
message Quantity { optional string string = 1; }
message IntOrString { optional int64 type = 1; optional int32 intVal = 2; optional string strVal = 3; }
message ObjectMeta { optional string name = 1; optional string generateName = 2; optional string namespace = 3; optional string selfLink = 4; optional string uid = 5; optional string resourceVersion = 6;
  optional int64 generation = 7; optional Time creationTimestamp = 8; optional Time deletionTimestamp = 9; optional int64 deletionGracePeriodSeconds = 10; map<string, string> labels = 11;
  map<string, string> annotations = 12; repeated OwnerReference ownerReferences = 13; repeated string finalizers = 14; repeated ManagedFieldsEntry managedFields = 17; }
message OwnerReference { optional string kind = 1; optional string name = 3; optional string uid = 4; optional string apiVersion = 5; optional bool controller = 6; optional bool blockOwnerDeletion = 7; }
message ManagedFieldsEntry { optional string manager = 1; optional string operation = 2; optional string apiVersion = 3; optional Time time = 4; optional string fieldsType = 6; optional FieldsV1 fieldsV1 = 7; optional string subresource = 8; }
message Preconditions { optional string uid = 1; optional string resourceVersion = 2; }
message DeleteOptions { optional int64 gracePeriodSeconds = 1; optional Preconditions preconditions = 2; optional bool orphanDependents = 3; optional string propagationPolicy = 4; repeated string dryRun = 5; }
message NamespaceSpec { repeated string finalizers = 1; }
message NamespaceCondition { optional string type = 1; optional string status = 2; optional Time lastTransitionTime = 4; optional string reason = 5; optional string message = 6; }
message NamespaceStatus { optional string phase = 1; repeated NamespaceCondition conditions = 2; }
message Namespace { optional ObjectMeta metadata = 1; optional NamespaceSpec spec = 2; optional NamespaceStatus status = 3; }
message ConfigMap { optional ObjectMeta metadata = 1; map<string, string> data = 2; map<string, bytes> binaryData = 3; optional bool immutable = 4; }
message Secret { optional ObjectMeta metadata = 1; map<string, bytes> data = 2; optional string type = 3; map<string, string> stringData = 4; optional bool immutable = 5; }
message ResourceAttributes { optional string namespace = 1; optional string verb = 2; optional string group = 3; optional string version = 4; optional string resource = 5; optional string subresource = 6; optional string name = 7; }
message NonResourceAttributes { optional string path = 1; optional string verb = 2; }
message SelfSubjectAccessReviewSpec { optional ResourceAttributes resourceAttributes = 1; optional NonResourceAttributes nonResourceAttributes = 2; }
message SelfSubjectAccessReview { optional ObjectMeta metadata = 1; optional SelfSubjectAccessReviewSpec spec = 2; }
message HostPathVolumeSource { optional string path = 1; optional string type = 2; }
message EmptyDirVolumeSource { optional string medium = 1; optional Quantity sizeLimit = 2; }
message VolumeSource { optional HostPathVolumeSource hostPath = 1; optional EmptyDirVolumeSource emptyDir = 2; }
message Volume { optional string name = 1; optional VolumeSource volumeSource = 2; }
message Widget { optional ObjectMeta metadata = 1; optional int32 replicas = 2; optional bool paused = 3; repeated Volume volumes = 4; map<string, Quantity> limits = 5; optional IntOrString maxSurge = 6; repeated string args = 7;
  optional MicroTime renewTime = 8; optional int64 priority = 9; repeated int32 codes = 10; }
`;
const { root } = protobuf.parse(proto, { keepCase: true });
/** What a later kind needs: rows. */
const widget = {
  Widget: 'metadata=1:ObjectMeta replicas=2:int32? paused=3:bool volumes=4:Volume[] limits=5:map<str,Quantity> maxSurge=6:IntOrString args=7:str[] renewTime=8:MicroTime priority=9:int64 codes=10:int32[]',
  Volume: 'name=1:str ...volumeSource=2:VolumeSource',
  VolumeSource: 'hostPath=1:HostPathVolumeSource emptyDir=2:EmptyDirVolumeSource',
  HostPathVolumeSource: 'path=1:str type=2:str?',
  EmptyDirVolumeSource: 'medium=1:str sizeLimit=2:Quantity',
};
const decoder = new ProtobufBodies({ ...messages, ...widget }, { ...bodies, 'example.org/v1 Widget': 'Widget' });

const pointers = new Set(['deletionGracePeriodSeconds', 'controller', 'blockOwnerDeletion', 'immutable', 'replicas', 'gracePeriodSeconds', 'orphanDependents', 'propagationPolicy', 'HostPathVolumeSource.type', 'Preconditions.uid', 'Preconditions.resourceVersion']);

/** A message of Kubernetes JSON, filled as Go does: every scalar that is no pointer is sent, zero or not. */
function message(type: Type, json: unknown): Record<string, unknown> {
  if (type.name === 'Time' || type.name === 'MicroTime') {
    if (json === null) return {};
    const millis = Date.parse(json as string);
    return { seconds: Math.floor(millis / 1000), nanos: (millis - Math.floor(millis / 1000) * 1000) * 1_000_000 };
  }
  if (type.name === 'FieldsV1') return { Raw: Buffer.from(JSON.stringify(json)) };
  if (type.name === 'Quantity') return { string: json };
  if (type.name === 'IntOrString') return typeof json === 'number' ? { type: 0, intVal: json, strVal: '' } : { type: 1, intVal: 0, strVal: json };
  const members = json as Record<string, unknown>;
  const filled: Record<string, unknown> = {};
  for (const field of type.fieldsArray) {
    const one = (value: unknown): unknown => (field.resolve().resolvedType ? message(field.resolvedType as Type, value) : field.type === 'bytes' ? Buffer.from(value as string, 'base64') : value);
    const value = members[field.name];
    if (field.name === 'volumeSource') filled[field.name] = one(members);
    else if (value === undefined) {
      const scalar = !field.repeated && !field.map && !field.resolvedType && !pointers.has(field.name) && !pointers.has(`${type.name}.${field.name}`);
      if (scalar) filled[field.name] = field.typeDefault;
    } else if (field.map) filled[field.name] = Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, one(item)]));
    else filled[field.name] = field.repeated ? (value as unknown[]).map(one) : one(value);
  }
  return filled;
}

const wrap = (apiVersion: string, kind: string, raw: Uint8Array, more: object = {}): Buffer => Buffer.concat([Buffer.from('k8s\0'), root.lookupType('Unknown').encode({ typeMeta: { apiVersion, kind }, raw, contentEncoding: '', contentType: '', ...more }).finish()]);
const bytesOf = (name: string, value: object): Uint8Array => root.lookupType(name).encode(value).finish();
function encoded(object: { apiVersion: string; kind: string }): Buffer {
  const type = root.lookupType(object.kind);
  return wrap(object.apiVersion, object.kind, type.encode(message(type, object)).finish());
}

const text = string({ unit: 'grapheme', maxLength: 12 });
const word = string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
const key = string({ maxLength: 8 });
const some = <T>(of: Arbitrary<T>): Arbitrary<Record<string, T>> => dictionary(key, of, { minKeys: 1, maxKeys: 4, noNullPrototype: true });
const list = <T>(of: Arbitrary<T>): Arbitrary<T[]> => array(of, { minLength: 1, maxLength: 3 });
const instant = date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true });
const time = instant.map((at) => at.toISOString().replace(/\.\d+Z$/, 'Z'));
const base64 = uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const positive = integer({ min: 1, max: 2 ** 31 - 1 });
const quantity = constantFrom('0', '100m', '1Gi');
const optional = <T extends object>(required: T, more: { [name: string]: Arbitrary<unknown> }): Arbitrary<Record<string, unknown>> => record({ ...(required as Record<string, Arbitrary<unknown>>), ...more }, { requiredKeys: Object.keys(required), noNullPrototype: true });
const metadata = optional(
  { creationTimestamp: option(time) },
  {
    name: word, generateName: word, namespace: word, uid: word, resourceVersion: word, generation: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), deletionTimestamp: time, deletionGracePeriodSeconds: integer(),
    labels: some(text), annotations: some(text), finalizers: list(text),
    ownerReferences: list(optional({}, { apiVersion: word, kind: word, name: word, uid: word, controller: boolean(), blockOwnerDeletion: boolean() })),
    managedFields: list(optional({}, { manager: word, operation: word, apiVersion: word, time, fieldsType: word, subresource: word, fieldsV1: jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown) })),
  },
);
const kind = (apiVersion: string, name: string, more: { [name: string]: Arbitrary<unknown> }, required: object = { metadata }): Arbitrary<Record<string, unknown>> => optional({ apiVersion: constant(apiVersion), kind: constant(name), ...required }, more);
const kinds: Record<string, Arbitrary<Record<string, unknown>>> = {
  ConfigMap: kind('v1', 'ConfigMap', { immutable: boolean(), data: some(text), binaryData: some(base64) }),
  Secret: kind('v1', 'Secret', { immutable: boolean(), data: some(base64), stringData: some(text), type: word }),
  Namespace: kind('v1', 'Namespace', { status: optional({}, { phase: word, conditions: list(optional({}, { type: word, status: word, lastTransitionTime: option(time), reason: word, message: word })) }) }, { metadata, spec: optional({}, { finalizers: list(text) }) }),
  DeleteOptions: kind('meta.k8s.io/v1', 'DeleteOptions', { gracePeriodSeconds: integer(), preconditions: optional({}, { uid: text, resourceVersion: text }), orphanDependents: boolean(), propagationPolicy: text, dryRun: list(text) }, {}),
  SelfSubjectAccessReview: kind('authorization.k8s.io/v1', 'SelfSubjectAccessReview', {
    spec: optional({}, { resourceAttributes: optional({}, { namespace: word, verb: word, group: word, version: word, resource: word, subresource: word, name: word }), nonResourceAttributes: optional({}, { path: word, verb: word }) }),
  }),
  Widget: kind('example.org/v1', 'Widget', {
    replicas: integer({ min: 0, max: 9 }), paused: constant(true), limits: some(quantity), maxSurge: constantFrom<unknown>(0, 3, '', '25%'), args: list(text), priority: positive, codes: list(integer()),
    volumes: list(optional({ name: word }, { hostPath: optional({}, { path: word, type: text }), emptyDir: optional({}, { medium: word, sizeLimit: quantity }) })),
    renewTime: instant.map((at) => at.toISOString().replace('Z', '000Z')),
  }),
};

describe('protobuf bodies', () => {
  it.each(Object.entries(kinds))('%s: what a client encodes is the JSON that it would have sent', (_kind, arbitrary) => {
    assert(property(arbitrary, (object) => expect(decoder.decode(encoded(object as { apiVersion: string; kind: string }))).toEqual({ object, warnings: [] })));
  });

  it('every row is in form, no number stands twice, and every body has a message', () => {
    for (const [name, row] of Object.entries(messages)) {
      const ids = fieldsOf(name, row).map(({ id }) => id);
      expect([name, new Set(ids).size]).toEqual([name, ids.length]);
    }
    for (const [name, said] of Object.entries(bodies)) {
      const [apiVersion = '', its = ''] = name.includes(' ') ? name.split(' ') : ['any/v1', name];
      expect(Object.hasOwn(messages, said)).toBe(true);
      expect(decoder.decode(wrap(apiVersion, its, new Uint8Array())).object).toEqual({ apiVersion, kind: its });
    }
    expect(() => new ProtobufBodies({ ...messages, Odd: 'a=1:str b:2' }, {})).toThrow('message Odd: "b:2" is not name=number:type');
    expect(() => new ProtobufBodies({ ...messages, Odd: 'a=1:Nobody' }, {})).toThrow('Nobody');
  });

  const nulls = bytesOf('Secret', { data: { empty: Buffer.alloc(0) } });
  it('the value of a map entry may be left out, as Go does for nil', () => {
    // Entry of field 2 that holds its key alone.
    const entry = Buffer.from([0x12, 0x03, 0x0a, 0x01, 0x61]);
    expect(decoder.decode(wrap('v1', 'Secret', Buffer.concat([nulls, entry]))).object).toEqual({ apiVersion: 'v1', kind: 'Secret', data: { empty: '', a: '' } });
    expect(decoder.decode(wrap('v1', 'ConfigMap', entry)).object).toMatchObject({ data: { a: '' } });
  });

  it('tells of fields that it drops, but not of zeros', () => {
    const unknown = Buffer.from([0xf8, 0x07, 0x05, 0xf0, 0x07, 0x00]);
    expect(decoder.decode(wrap('v1', 'ConfigMap', unknown))).toEqual({ object: { apiVersion: 'v1', kind: 'ConfigMap' }, warnings: ['unknown protobuf field 127 of ConfigMap was dropped'] });
  });

  it.each<[string, Buffer, number, RegExp]>([
    ['nothing', Buffer.alloc(0), 400, /"k8s"/],
    ['JSON', Buffer.from('{}'), 400, /"k8s"/],
    ['no envelope', Buffer.from('k8s\0'), 400, /names no kind/],
    ['half an envelope', encoded({ apiVersion: 'v1', kind: 'ConfigMap' }).subarray(0, 12), 400, /the envelope cannot be read/],
    ['half a message', wrap('v1', 'ConfigMap', bytesOf('ConfigMap', { data: { a: 'b' } }).subarray(0, 5)), 400, /the ConfigMap cannot be read: index out of range/],
    ['a field of another type', wrap('v1', 'ConfigMap', Buffer.from([0x08, 0x01])), 400, /field 1 of ConfigMap \(metadata\) is not of its type/],
    ['text that is not UTF-8', wrap('v1', 'Secret', Buffer.from([0x1a, 0x01, 0xff])), 400, /the Secret cannot be read.*utf-8/],
    ['a key that is not UTF-8', wrap('v1', 'ConfigMap', Buffer.from([0x12, 0x03, 0x0a, 0x01, 0xff])), 400, /the ConfigMap cannot be read.*utf-8/],
    ['a time out of time', wrap('v1', 'ConfigMap', bytesOf('ConfigMap', { metadata: { creationTimestamp: { seconds: 1e12 } } })), 400, /not within the years 0 to 9999/],
    ['a number too large', wrap('v1', 'ConfigMap', bytesOf('ConfigMap', { metadata: { generation: '9223372036854775807' } })), 400, /9223372036854775807 is larger than JSON can say/],
    ['JSON in it that is none', wrap('v1', 'ConfigMap', bytesOf('ConfigMap', { metadata: { managedFields: [{ fieldsV1: { Raw: Buffer.from('{') } }] } })), 400, /holds JSON/],
    ['a prototype', wrap('v1', 'ConfigMap', bytesOf('ConfigMap', { data: Object.fromEntries([['__proto__', 'x']]) })), 400, /__proto__/],
    ['an unknown kind', wrap('v1', 'ReplicationController', new Uint8Array()), 415, /"v1 ReplicationController" are not read here.*kubectl create -f -/],
    ['a known kind of another group', wrap('example.org/v1', 'Secret', new Uint8Array()), 415, /"example.org\/v1 Secret"/],
    ['a member of every object as kind', wrap('v1', 'constructor', new Uint8Array()), 415, /constructor/],
    ['another encoding within', wrap('v1', 'Secret', Buffer.from('{}'), { contentType: 'application/json' }), 415, /wrap another encoding/],
  ])('refuses %s', async (_what, bytes, code, message) => {
    await expect(readBody(bytes, 'application/vnd.kubernetes.protobuf')).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('never fails in any other way, whatever the bytes', () => {
    const survives = (bytes: Buffer): void => {
      try {
        decoder.decode(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(ApiError);
      }
    };
    assert(property(constantFrom('ConfigMap', 'Secret', 'Namespace', 'DeleteOptions'), uint8Array({ maxLength: 64 }), (name, raw) => survives(wrap('v1', name, raw))));
    // Real bodies with one byte changed come further than noise.
    assert(
      property(kinds['Widget'] as Arbitrary<Record<string, unknown>>, integer({ min: 4, max: 400 }), integer({ min: 0, max: 255 }), (object, at, byte) => {
        const bytes = encoded(object as { apiVersion: string; kind: string });
        bytes[at % bytes.length] = byte;
        survives(bytes);
      }),
    );
  });
});

/** What kubectl 1.32 sent for `create deployment d --image=nginx:1 --image=busybox --replicas=0`, `create job k --from=cronjob/c` and `create pdb q --selector=a=b --max-unavailable=0`. */
const fromKubectl = {
  deployment: 'azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50Es8BChsKAWQSABoAIgAqADIAOABCAFoICgNhcHASAWQSoQEIABIKCggKA2FwcBIBZBqIAQoaCgASABoAIgAqADIAOABCAFoICgNhcHASAWQSahIkCgVuZ2lueBIHbmdpbng6MSoAQgBqAHIAgAEAiAEAkAEAogEAEiYKB2J1c3lib3gSB2J1c3lib3gqAEIAagByAIABAIgBAJABAKIBABoAMgBCAEoAUgBYAGAAaACCAQCKAQCaAQDCAQAiAgoAKAA4ABoMCAAQABgAIAAoADgAGgAiAA==',
  job: 'azhzAAoPCghiYXRjaC92MRIDSm9iEp8CClsKAWsSABoAIgAqADIAOABCAGIrCiFjcm9uam9iLmt1YmVybmV0ZXMuaW8vaW5zdGFudGlhdGUSBm1hbnVhbGobCgdDcm9uSm9iGgFjIgF1KghiYXRjaC92MTABErUBMrIBChAKABIAGgAiACoAMgA4AEIAEp0BChAKAXYSC5oBCAoECgJjbSABCgkKAWUSBBICCgASXQoBeBIBeSoAOhMKAUESABoMIgoKAwoBcxIBaxgAQgwKCgoDY3B1EgMKATFSIAoUEhIKABIKCAEQABoEaHR0cBoAIgAQAxgAIAAoADAAagByAIABAIgBAJABAKIBABoFTmV2ZXIyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBABoIIAAoADAAOgAaACIA',
  budget: 'azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSMwoRCgFxEgAaACIAKgAyADgAQgASEhIICgYKAWESAWIaBggAEAAaABoKCAAYACAAKAAwABoAIgA=',
};

describe('what kubectl sends', () => {
  const served = new ProtobufBodies(messages, bodies);
  const sent = (name: keyof typeof fromKubectl): unknown => served.decode(Buffer.from(fromKubectl[name], 'base64'));
  it('for a deployment of no replicas: the zero is meant', () => {
    const labels = { app: 'd' };
    const containers = [{ name: 'nginx', image: 'nginx:1', resources: {} }, { name: 'busybox', image: 'busybox', resources: {} }];
    const spec = { replicas: 0, selector: { matchLabels: labels }, strategy: {}, template: { metadata: { creationTimestamp: null, labels }, spec: { containers } } };
    expect(sent('deployment')).toEqual({ object: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd', creationTimestamp: null, labels }, spec, status: {} }, warnings: [] });
  });
  it('for a job made from a cron job: keys, quantities, probes and volumes where JSON has them', () => {
    const container = {
      name: 'x', image: 'y', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k', optional: false } } }],
      resources: { limits: { cpu: '1' } }, livenessProbe: { httpGet: { port: 'http' }, initialDelaySeconds: 3 },
    };
    const volumes = [{ name: 'v', configMap: { name: 'cm', optional: true } }, { name: 'e', emptyDir: {} }];
    expect(sent('job')).toMatchObject({ object: { kind: 'Job', spec: { template: { spec: { containers: [container], volumes, restartPolicy: 'Never' } } } }, warnings: [] });
  });
  it('for a budget: a number stays a number', () => expect(sent('budget')).toMatchObject({ object: { kind: 'PodDisruptionBudget', spec: { selector: { matchLabels: { a: 'b' } }, maxUnavailable: 0 } } }));
});
