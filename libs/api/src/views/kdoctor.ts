import type { z } from 'zod';
import { column, nameColumn, numberAt, textAt, valueAt } from '../columns.ts';
import type { Kind } from '../kind.ts';
import type { StoredMeta } from '../meta.ts';
import { appHttpHealthy } from '../kinds/apphttphealthy.ts';
import { netDns } from '../kinds/netdns.ts';
import { netReach } from '../kinds/netreach.ts';
import { apiVersionOf, resourceKey, type Column } from '../kind.ts';
import { knownFamilies, storedRuntime, type Stored } from '../rules/cluster.ts';
import { decode } from '../validation/decode.ts';
import { kdoctorSchemas, kdoctorVersion } from './kdoctor-schema.ts';
import type { View } from './view.ts';

type Members = Record<string, unknown>;
const isRecord = (value: unknown): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Holds what a kdoctor manifest says and no stored field means, so that it is read back as it was written. */
const keptAnnotation = 'roundsman.io/kdoctor-unused';

const columns: readonly Column[] = [
  nameColumn,
  column('finish', 'boolean', 'Whether all rounds are done', (task) => (valueAt(task, 'status', 'finish') as boolean | undefined) ?? null),
  column('expectedRound', 'integer', 'Rounds the task will run', (task) => numberAt(task, 'status', 'expectedRound') ?? null),
  column('doneRound', 'integer', 'Rounds that are closed', (task) => numberAt(task, 'status', 'doneRound') ?? null),
  column('lastRoundStatus', 'string', 'How the last round ended', (task) => textAt(task, 'status', 'lastRoundStatus') ?? null),
  column('schedule', 'string', 'When rounds start', (task) => textAt(task, 'spec', 'schedule', 'schedule') ?? null),
];

/** Keeps the members a schema names, at every depth; loose parts whole. */
function only(schema: z.ZodType, value: unknown): unknown {
  const def = schema._zod.def as unknown as { type: string; shape?: Record<string, z.ZodType>; catchall?: unknown; innerType?: z.ZodType; element?: z.ZodType };
  if (def.innerType !== undefined) return only(def.innerType, value);
  if (def.type === 'array' && Array.isArray(value)) return value.map((one) => only(def.element!, one));
  if (def.type !== 'object' || def.catchall !== undefined || !isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([key, member]) => (def.shape![key] === undefined ? [] : [[key, only(def.shape![key], member)]])));
}

/** `written`, and of `before` what the view cannot see; lists and leaves are the writer's. */
function withHidden(written: Members, before: Members, visible: Members): Members {
  const merged: Members = { ...written };
  for (const [key, value] of Object.entries(before)) {
    if (!(key in visible)) {
      if (!(key in merged)) merged[key] = value;
    } else if (isRecord(value) && isRecord(written[key]) && isRecord(visible[key])) merged[key] = withHidden(written[key], value, visible[key]);
  }
  return merged;
}

/** The writer chose kdoctor's form of the schedule: the hidden forms of ours must not contradict it. */
function settleSchedule(spec: Members): void {
  const { schedule } = spec;
  if (!isRecord(schedule)) return;
  if (schedule['schedule'] !== undefined) {
    delete schedule['startAfterSeconds'];
    delete schedule['intervalSeconds'];
    if (String(schedule['schedule']).trim().split(/\s+/).length !== 5) delete schedule['timeZone'];
  }
  if (schedule['roundTimeoutMinute'] !== undefined) delete schedule['roundTimeoutSeconds'];
}

function viewFor(stored: Kind, kindName: keyof typeof kdoctorSchemas, shortNames: readonly string[]): View {
  const schema = kdoctorSchemas[kindName];
  const specSchema = schema.shape.spec as z.ZodType;
  const statusSchema = schema.shape.status as z.ZodType;

  const view: View = {
    group: 'kdoctor.io',
    version: 'v1beta1',
    kind: kindName,
    plural: stored.plural,
    singular: stored.singular,
    shortNames,
    categories: ['kdoctor'],
    namespaced: false,
    maxNameLength: 63,
    schema,
    hasStatus: true,
    columns,
    fieldSelectors: [],
    resource: resourceKey(stored),
    toView(object) {
      const { namespace: _namespace, annotations, ...metadata } = object.metadata;
      const { [keptAnnotation]: kept, ...shownAnnotations } = annotations ?? {};
      const spec = only(specSchema, object.spec) as Members;
      if (kept !== undefined) restore(spec, kept);
      return {
        apiVersion: kdoctorVersion,
        kind: kindName,
        metadata: { ...metadata, ...(Object.keys(shownAnnotations).length > 0 && { annotations: shownAnnotations }) } as StoredMeta,
        spec,
        ...(object.status !== undefined && { status: only(statusSchema, kdoctorStatus(object.status as Members)) }),
      };
    },
    fromView(body, old, fieldValidation, cluster) {
      const { object, warnings } = decode(view, kindName === 'NetReach' ? withTarget(body, cluster) : body, fieldValidation);
      const spec = object.spec as Members;
      const kept = takeUnused(kindName, spec);
      const merged = old === undefined ? spec : withHidden(spec, old.spec as Members, visibleOf(specSchema) as Members);
      settleSchedule(merged);
      const { namespace: _namespace, annotations, ...metadata } = object.metadata;
      const withKept = { ...annotations, ...(kept !== undefined && { [keptAnnotation]: kept }) };
      return {
        object: {
          apiVersion: apiVersionOf(stored),
          kind: stored.kind,
          metadata: { ...metadata, ...(Object.keys(withKept).length > 0 && { annotations: withKept }) },
          spec: merged,
          ...(object.status !== undefined && { status: object.status }),
        },
        warnings,
      };
    },
  };
  return view;
}

/** What kdoctor makes of a NetReach that says nothing of its target: every way that the cluster has, where that is known. */
function withTarget(body: Readonly<Members>, stored: Stored): Readonly<Members> {
  const spec = body['spec'] ?? {};
  if (!isRecord(spec) || (spec['target'] ?? undefined) !== undefined) return body;
  const families = knownFamilies(stored) ?? ['v4'];
  const paths = storedRuntime(stored)?.status?.paths;
  const target = {
    ipv4: families.includes('v4'),
    ipv6: families.includes('v6'),
    loadBalancer: paths?.services.some(({ loadBalancer = [] }) => loadBalancer.length > 0) === true,
    ingress: (paths?.ingress?.addresses.length ?? 0) > 0,
  };
  return { ...body, spec: { ...spec, target } };
}

/** The members that the view shows, as nested records: what is not in here is hidden. Loose parts and leaves are shown whole. */
function visibleOf(schema: z.ZodType): Members | true {
  const def = schema._zod.def as unknown as { type: string; shape?: Record<string, z.ZodType>; catchall?: unknown; innerType?: z.ZodType };
  if (def.innerType !== undefined) return visibleOf(def.innerType);
  if (def.type !== 'object' || def.catchall !== undefined) return true;
  return Object.fromEntries(Object.entries(def.shape!).map(([key, member]) => [key, visibleOf(member)]));
}

/** Removes what no stored field means; returned as the annotation's text. */
function takeUnused(kind: keyof typeof kdoctorSchemas, spec: Members): string | undefined {
  const unused: Members = {};
  if (spec['sourceAgentNodeSelector'] !== undefined) unused['sourceAgentNodeSelector'] = spec['sourceAgentNodeSelector'];
  delete spec['sourceAgentNodeSelector'];
  const expect = spec['expect'];
  if (kind !== 'AppHttpHealthy' && isRecord(expect)) {
    if (expect['statusCode'] !== undefined) unused['expect'] = { statusCode: expect['statusCode'] };
    delete expect['statusCode'];
  }
  return Object.keys(unused).length === 0 ? undefined : JSON.stringify(unused);
}

function restore(spec: Members, kept: string): void {
  let unused: unknown;
  try {
    unused = JSON.parse(kept);
  } catch {
    return; // Somebody wrote the annotation by hand: there is nothing to restore.
  }
  if (!isRecord(unused)) return;
  for (const [key, value] of Object.entries(unused)) spec[key] = isRecord(value) && isRecord(spec[key]) ? { ...spec[key], ...value } : value;
}

/** kdoctor knows no canceled rounds: they did not succeed. */
function kdoctorStatus(status: Members): Members {
  const known = (state: unknown): unknown => (state === 'canceled' ? 'fail' : state);
  const { history } = status;
  return {
    ...status,
    ...(status['lastRoundStatus'] !== undefined && { lastRoundStatus: known(status['lastRoundStatus']) }),
    ...(Array.isArray(history) && { history: history.map((round: Members) => ({ ...round, status: known(round['status']) })) }),
  };
}

export const kdoctorViews: readonly View[] = [viewFor(netReach, 'NetReach', ['nr']), viewFor(appHttpHealthy, 'AppHttpHealthy', ['ahh']), viewFor(netDns, 'Netdns', [])];
