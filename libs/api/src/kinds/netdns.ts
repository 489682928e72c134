import type { z } from 'zod';
import type { Kind } from '../kind.ts';
import { parseAddress } from '../policy.ts';
import { agentSpecRules } from '../rules/agent-spec.ts';
import { budgetRules } from '../rules/budget.ts';
import { carrierOf } from '../rules/carrier.ts';
import { forbiddenField, invalidValue, required } from '../rules/causes.ts';
import { policyRule } from '../rules/host.ts';
import { tlsRules } from '../rules/references.ts';
import type { NetDnsSpec } from './spec.ts';
import type { Findings } from '../rules/causes.ts';
import { findings } from '../rules/causes.ts';
import { scheduleRules } from '../rules/schedule.ts';
import { dnsTargets } from '../rules/target-count.ts';
import { serviceNameRule, targetDnsRules } from '../rules/target-dns.ts';
import { unsupportedRules } from '../rules/unsupported.ts';
import { completeTask } from './agent-spec.ts';
import { objectOf } from './object.ts';
import { netDnsSpecSchema } from './spec.ts';
import { taskStatusSchema } from './task.ts';
import { taskColumns } from './task-columns.ts';

const schema = objectOf('roundsman.io/v1', 'NetDNS', 'Asks a DNS server from every node and judges the answers', { spec: netDnsSpecSchema, status: taskStatusSchema.optional().describe('How the task fares; written by Roundsman') });

/** A DNS name by its lengths and characters; service names may start with an underscore. */
const dnsName = /^(?=.{1,253}\.?$)[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?(\.[a-zA-Z0-9_]([-a-zA-Z0-9_]{0,61}[a-zA-Z0-9_])?)*\.?$/;

function targetRules(target: NetDnsSpec['target'], { causes }: Findings): void {
  if (target.targetUser !== undefined && target.targetDns !== undefined) {
    causes.push(forbiddenField('spec.target.targetDns', 'may not be given together with targetUser: choose one'));
  }
  if (target.targetUser === undefined && target.targetDns === undefined) causes.push(required('spec.target', 'one of targetUser and targetDns must be given'));
  const server = target.targetUser?.server;
  // What looks like an IPv4 address must be one: 10.0.0.300 is a mistake, not a name.
  if (server !== undefined && parseAddress(server) === undefined && (!dnsName.test(server) || /^[0-9.]+$/.test(server))) {
    causes.push(invalidValue('spec.target.targetUser.server', server, 'must be an IP address or a DNS name'));
  }
}

export const netDns: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'NetDNS',
  plural: 'netdnses',
  singular: 'netdns',
  shortNames: ['nd'],
  categories: ['roundsman'],
  namespaced: true,
  maxNameLength: 63,
  schema,
  complete: completeTask,
  hasStatus: true,
  columns: taskColumns,
  fieldSelectors: [],
  validate(object, context) {
    const task = object as z.infer<typeof schema>;
    const { spec } = task;
    const found = findings();
    scheduleRules(spec.schedule, spec.request, found);
    budgetRules(spec.request, dnsTargets(task), carrierOf('NetDNS', task, context), context, found);
    agentSpecRules(object, context, found);
    if (!dnsName.test(spec.request.domain) && spec.request.domain !== '.') {
      found.causes.push(invalidValue('spec.request.domain', spec.request.domain, 'must be a DNS name: labels of at most 63 characters, 253 in all'));
    }
    targetRules(spec.target, found);
    if (spec.target.targetDns !== undefined) {
      targetDnsRules(spec.target.targetDns, context, found);
      serviceNameRule(spec, context, found);
    }
    if (spec.target.targetUser !== undefined) policyRule('spec.target.targetUser.server', spec.target.targetUser.server, spec.target.targetUser.port, context.policy, found);
    if (spec.target.tlsSecretName !== undefined && spec.request.protocol !== 'tcp-tls') {
      found.warnings.push('spec.target.tlsSecretName: not used, request.protocol is not tcp-tls');
    }
    tlsRules(object, spec.target, context, found);
    unsupportedRules('NetDNS', spec, context, found);
    return found;
  },
};
