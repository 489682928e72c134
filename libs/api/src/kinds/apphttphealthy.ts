import type { z } from 'zod';
import type { Kind } from '../kind.ts';
import { agentSpecRules } from '../rules/agent-spec.ts';
import { budgetRules } from '../rules/budget.ts';
import { carrierOf } from '../rules/carrier.ts';
import { invalidValue } from '../rules/causes.ts';
import { headerRules, policyRule, portOf, targetUrl } from '../rules/host.ts';
import { bodyRules, tlsRules } from '../rules/references.ts';
import { findings } from '../rules/causes.ts';
import { scheduleRules } from '../rules/schedule.ts';
import { unsupportedRules } from '../rules/unsupported.ts';
import { completeTask } from './agent-spec.ts';
import { objectOf } from './object.ts';
import { appHttpHealthySpecSchema } from './spec.ts';
import { taskStatusSchema } from './task.ts';
import { taskColumns } from './task-columns.ts';

const schema = objectOf('roundsman.io/v1', 'AppHttpHealthy', 'Requests an HTTP service from every node and judges the answers', { spec: appHttpHealthySpecSchema, status: taskStatusSchema.optional().describe('How the task fares; written by Roundsman') });

export const appHttpHealthy: Kind = {
  group: 'roundsman.io',
  version: 'v1',
  kind: 'AppHttpHealthy',
  plural: 'apphttphealthies',
  singular: 'apphttphealthy',
  shortNames: ['ahh'],
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
    budgetRules(spec.request, 1, carrierOf('AppHttpHealthy', task, context), context, found);
    agentSpecRules(object, context, found);
    const { url, problem } = targetUrl(spec.target.host);
    if (problem !== undefined) found.causes.push(invalidValue('spec.target.host', spec.target.host, problem));
    else {
      policyRule('spec.target.host', url.hostname, portOf(url), context.policy, found);
      if (spec.target.http2 && url.protocol === 'http:') {
        const why = 'HTTP/2 is negotiated in TLS and needs an https:// host';
        if (context.view === undefined) found.causes.push(invalidValue('spec.target.http2', true, why));
        else found.warnings.push(`spec.target.http2: ${why}; HTTP/1.1 is used`);
      }
      if (spec.target.tlsSecretName !== undefined && url.protocol === 'http:') found.warnings.push('spec.target.tlsSecretName: not used, host is not an https:// URL');
    }
    headerRules(spec.target.header ?? [], found);
    bodyRules(object, spec.target, context, found);
    tlsRules(object, spec.target, context, found);
    unsupportedRules('AppHttpHealthy', spec, context, found);
    return found;
  },
};
