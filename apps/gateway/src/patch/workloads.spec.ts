import { describe, expect, it } from '@jest/globals';
import { applyConfiguration } from './apply.ts';
import { fieldsOf, fieldsV1Of, toFieldsV1 } from './fields.ts';
import type { JsonObject } from './lists.ts';
import { recordUpdate } from './managed.ts';
import { strategicMergePatch } from './strategic.ts';

const now = Date.parse('2026-01-02T03:04:05Z');
const by = (manager: string, force = false): Parameters<typeof applyConfiguration>[2] => ({ manager, apiVersion: 'apps/v1', now, force });
const deployment = (container: JsonObject, spec: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, template: { spec: { containers: [{ name: 'c', ...container }] } }, ...spec },
});
const containerOf = (object: JsonObject): JsonObject => ((object['spec'] as JsonObject)['template'] as { spec: { containers: JsonObject[] } }).spec.containers[0]!;

describe('server-side apply of workloads', () => {
  it('tells ports apart by number and protocol, TCP where none is said', () => {
    const live = applyConfiguration(undefined, deployment({ ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }] }), by('one'));
    // The server has filled in the protocol meanwhile.
    const stored = structuredClone(live);
    (containerOf(stored)['ports'] as JsonObject[])[0]!['protocol'] = 'TCP';
    const next = applyConfiguration(stored, deployment({ ports: [{ containerPort: 53, name: 'dns' }, { containerPort: 53, protocol: 'UDP' }] }), by('one'));
    expect(containerOf(next)['ports']).toEqual([{ containerPort: 53, protocol: 'TCP', name: 'dns' }, { containerPort: 53, protocol: 'UDP' }]);
  });

  it('names what others own as Kubernetes does: one in a line, several in a list by manager', () => {
    const live = deployment({ image: 'a:1' }, { replicas: 3 });
    recordUpdate(undefined, live, { manager: 'kubectl-client-side-apply', apiVersion: 'apps/v1', now });
    expect(() => applyConfiguration(live, deployment({ image: 'a:1' }, { replicas: 5 }), by('kubectl'))).toThrow(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    );
    expect(() => applyConfiguration(live, deployment({ image: 'a:2' }, { replicas: 5 }), by('kubectl'))).toThrow(
      'Apply failed with 2 conflicts: conflicts with "kubectl-client-side-apply" using apps/v1:\n- .spec.template.spec.containers[name="c"].image\n- .spec.replicas',
    );
  });

  it('names the part of the object through which another one wrote', () => {
    const live = deployment({ image: 'a:1' }, { replicas: 3 });
    recordUpdate(undefined, live, { manager: 'autoscaler', apiVersion: 'apps/v1', subresource: 'scale', now });
    expect(() => applyConfiguration(live, deployment({}, { replicas: 5 }), by('kubectl'))).toThrow('conflict with "autoscaler" with subresource "scale" using apps/v1: .spec.replicas');
  });

  it('takes selectors and references as one value, tolerations as one list', () => {
    const one = applyConfiguration(undefined, deployment({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'm', key: 'k' } } }] }), by('one'));
    const fields = [...fieldsOf(one)];
    expect(fields).toContain('["f:spec","f:selector"]');
    expect(fields.some((path) => path.includes('f:configMapKeyRef",'))).toBe(false);
    const next = applyConfiguration(one, deployment({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'other', key: 'k', optional: true } } }] }, { selector: { matchLabels: { tier: 'x' } } }), by('one'));
    expect((next['spec'] as JsonObject)['selector']).toEqual({ matchLabels: { tier: 'x' } });
    expect(containerOf(next)['env']).toEqual([{ name: 'A', valueFrom: { configMapKeyRef: { name: 'other', key: 'k', optional: true } } }]);
  });

  it('refuses two items with the same keys, which would become one', () => {
    const twice = (container: JsonObject): (() => JsonObject) => () => applyConfiguration(undefined, deployment(container), by('one'));
    expect(twice({ env: [{ name: 'A', value: '1' }, { name: 'A', value: '2' }] })).toThrow('failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="c"].env: duplicate entries for key [name="A"]');
    expect(twice({ ports: [{ containerPort: 53 }, { containerPort: 53, protocol: 'UDP' }], args: ['x', 'x'] })).not.toThrow();
  });

  it('the fast form for new objects is the same as that of the set', () => {
    const object = deployment({ image: 'a', ports: [{ containerPort: 1 }], env: [], resources: {}, securityContext: null, args: ['x'] }, { strategy: { type: null } });
    expect(fieldsV1Of(object)).toEqual(toFieldsV1(fieldsOf(object)));
    expect(fieldsV1Of(object)).toEqual({
      'f:spec': {
        'f:selector': {},
        'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, 'f:image': {}, 'f:args': {}, 'f:env': {}, 'f:resources': {}, 'f:ports': { 'k:{"containerPort":1,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } } } } } },
      },
    });
  });
});

describe('strategic merge patches of workloads', () => {
  it('keeps of a strategy what it is told to', () => {
    const live = deployment({}, { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } } });
    const patched = strategicMergePatch(live, { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } });
    expect((patched['spec'] as JsonObject)['strategy']).toEqual({ type: 'Recreate' });
  });

  it('merges the selector of a deployment, replaces that of a budget', () => {
    const patch = { spec: { selector: { matchLabels: { tier: 'x' } } } };
    expect(strategicMergePatch(deployment({}), patch)).toMatchObject({ spec: { selector: { matchLabels: { app: 'web', tier: 'x' } } } });
    const budget = { kind: 'PodDisruptionBudget', spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } } };
    expect(strategicMergePatch(budget, patch)).toEqual({ kind: 'PodDisruptionBudget', spec: { minAvailable: 1, selector: { matchLabels: { tier: 'x' } } } });
    expect(strategicMergePatch(budget, { spec: { minAvailable: 2 } })).toEqual({ kind: 'PodDisruptionBudget', spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } } });
  });

  it('takes the lists that Kubernetes takes whole', () => {
    const live = { kind: 'ServiceAccount', imagePullSecrets: [{ name: 'a' }], secrets: [{ name: 's' }] };
    expect(strategicMergePatch(live, { imagePullSecrets: [{ name: 'b' }], secrets: [{ name: 't' }] })).toEqual({ kind: 'ServiceAccount', imagePullSecrets: [{ name: 'b' }], secrets: [{ name: 't' }, { name: 's' }] });
  });
});

describe('strategic merge of lists', () => {
  const patched = (live: JsonObject, patch: JsonObject): JsonObject => containerOf(strategicMergePatch(deployment(live), deployment(patch)));
  it('takes a new list as it is, also one port with two protocols', () => {
    const ports = [{ containerPort: 53, protocol: 'UDP' }, { containerPort: 53, protocol: 'TCP' }];
    expect(patched({}, { ports })['ports']).toEqual(ports);
  });
  it('keeps items that the order does not name where they stood', () => {
    const live = [{ name: 'SIZE' }, { name: 'MORE' }];
    expect(patched({ env: live }, { '$setElementOrder/env': [{ name: 'COLOR' }, { name: 'SIZE' }], env: [{ name: 'COLOR' }] })['env']).toEqual([{ name: 'COLOR' }, { name: 'SIZE' }, { name: 'MORE' }]);
    expect(patched({ env: [{ name: 'MORE' }, { name: 'SIZE' }] }, { '$setElementOrder/env': [{ name: 'SIZE' }] })['env']).toEqual([{ name: 'MORE' }, { name: 'SIZE' }]);
  });
});
