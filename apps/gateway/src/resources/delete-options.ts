import { badRequest, deleteOptionsSchema, invalid, type Cause, type DeleteOptions } from '@roundsman/api';
import type { Write } from '@roundsman/bus';
import type { Exchange } from '../http/exchange.ts';
import { dryRunOption, type Query } from '../http/query.ts';

/** How to delete, as intake is told. */
export type Deletion = Pick<Write, 'preconditions' | 'gracePeriodSeconds' | 'propagationPolicy'> & { readonly dryRun: boolean };

const policies = ['Orphan', 'Background', 'Foreground'] as const;

/** From the body, and from the query where the body says nothing. */
export async function deletionOf(exchange: Exchange): Promise<Deletion> {
  const { query } = exchange;
  const body = exchange.bytes.length === 0 ? {} : readDeleteOptions((await exchange.body()).value);
  const ofQuery = optionsOf(query);
  return toDeletion({ ...ofQuery, ...body, dryRun: [...(body.dryRun ?? []), ...query.all('dryRun')] });
}

/** Checked and turned into what intake is told; throws a 422 that names the option. */
export function toDeletion({ preconditions, gracePeriodSeconds, propagationPolicy, orphanDependents, dryRun }: DeleteOptions): Deletion {
  if (propagationPolicy !== undefined && orphanDependents !== undefined) {
    throw refused({ field: 'propagationPolicy', reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(propagationPolicy)}: orphanDependents and deletionPropagation cannot be both set` });
  }
  const policy = propagationPolicy ?? (orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background');
  const { uid, resourceVersion } = preconditions ?? {};
  return {
    dryRun: dryRunOption(dryRun ?? []),
    // As in Kubernetes, less than nothing is the least.
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds }),
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    ...(uid || resourceVersion ? { preconditions: { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) } } : {}),
  };
}

export function readDeleteOptions(value: unknown): DeleteOptions {
  // What is null is not set.
  const given = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : value;
  const parsed = deleteOptionsSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(`DeleteOptions cannot be read: ${issue?.path.join('.') || 'body'}: ${issue?.message ?? ''}`);
}

function optionsOf(query: Query): DeleteOptions {
  const grace = query.text('gracePeriodSeconds');
  if (grace !== undefined && !/^-?\d{1,9}$/.test(grace)) throw badRequest(`query parameter gracePeriodSeconds must be a whole number, not ${JSON.stringify(grace)}`);
  const propagationPolicy = query.oneOf('propagationPolicy', policies);
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(query.text('orphanDependents') === undefined ? {} : { orphanDependents: query.flag('orphanDependents') }),
  };
}

const refused = (cause: Cause): Error => invalid({ kind: 'DeleteOptions', group: '', plural: '' }, '', [cause]);
