import { badRequest, decode, objectMetaSchema, type Kind } from '@roundsman/api';
import { z } from 'zod';
import type { Listed } from './discovery.ts';
import type { User } from './http/auth.ts';
import { isObject, type JsonObject } from './patch/lists.ts';

const review = (group: string, kind: string, about: string): Listed => {
  const schema = z
    .looseObject({
      apiVersion: z.literal(`${group}/v1`).describe('Version of the schema of this object'),
      kind: z.literal(kind).describe('Kind of this object'),
      metadata: objectMetaSchema.prefault({}).describe('Not used'),
      spec: z.looseObject({}).optional().describe('The question'),
      status: z.looseObject({}).optional().describe('The answer'),
    })
    .describe(about);
  const plural = `${kind.toLowerCase()}s`;
  const definition: Kind = { group, version: 'v1', kind, plural, singular: kind.toLowerCase(), shortNames: [], categories: [], namespaced: false, schema, hasStatus: false, columns: [], fieldSelectors: [], virtual: true };
  return { kind: definition, verbs: ['create'], subresources: [] };
};

/** Questions a client may ask about itself; nothing is stored. */
export const reviews: readonly Listed[] = [
  review('authorization.k8s.io', 'SelfSubjectAccessReview', 'Asks whether the caller may do something'),
  review('authorization.k8s.io', 'SelfSubjectRulesReview', 'Asks what the caller may do'),
  review('authentication.k8s.io', 'SelfSubjectReview', 'Asks who the caller is'),
];

/** Who is let in may do all that is served. */
export function answerReview({ kind }: Listed, body: unknown, user: User): object {
  if (!isObject(body)) throw badRequest(`the body must be one ${kind.kind}`);
  for (const member of ['apiVersion', 'kind']) if (body[member] === null) throw badRequest(`${member} must be text, not null; it may be left out`);
  const spec = decode(kind, body, 'Ignore').object.spec ?? {};
  const base = { kind: kind.kind, apiVersion: `${kind.group}/${kind.version}`, metadata: { creationTimestamp: null } };
  if (kind.kind === 'SelfSubjectReview') {
    const { name: username, uid, groups, extra } = user;
    return { ...base, status: { userInfo: { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) } } };
  }
  if (kind.kind === 'SelfSubjectRulesReview') {
    const status = { incomplete: false, resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] };
    return { ...base, spec, status };
  }
  if (['resourceAttributes', 'nonResourceAttributes'].filter((member) => isObject((spec as JsonObject)[member])).length !== 1) {
    throw badRequest('spec: exactly one of resourceAttributes and nonResourceAttributes must be given');
  }
  return { ...base, spec, status: { allowed: true, reason: 'the bearer token of this gateway allows everything that it serves' } };
}
