import { describe, expect, it } from '@jest/globals';
import { causesOf, object, type Shape } from '../testing/rules.ts';

const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'busybox' }] } };
const selector = { matchLabels: labels };
const workload = (resource: string, spec: object, metadata = {}): Shape => object(`${resource}.apps`, { metadata, spec: { selector, template, ...spec } });
const spoiled = (change: object): object => ({ ...template, spec: { ...template.spec, ...change } });
const matching = (expected: readonly (string | RegExp)[]): unknown[] => expected.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text)));

describe('workloads', () => {
  it.each(['deployments', 'replicasets', 'daemonsets', 'statefulsets'])('%s that are good have no causes', (resource) => {
    expect(causesOf(workload(resource, {}))).toEqual([]);
  });

  it.each<[name: string, given: Shape, ...causes: (string | RegExp)[]]>([
    ['negative replicas', workload('deployments', { replicas: -1 }), 'spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
    ['a selector of other pods', workload('deployments', { selector: { matchLabels: { app: 'other' } } }), 'spec.template.metadata.labels: Invalid value: map[string]string{"app":"web"}: `selector` does not match template `labels`'],
    ['a selector of everything', workload('deployments', { selector: {} }), 'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for deployment'],
    ['an operator', workload('replicasets', { selector: { matchLabels: labels, matchExpressions: [{ key: 'a', operator: 'Is' }] } }), /^spec\.selector\.matchExpressions\[0\]\.operator: Invalid value: "Is": not a valid selector operator/, /: invalid label selector$/],
    ['pods that are not restarted', workload('replicasets', { template: spoiled({ restartPolicy: 'Never' }) }), 'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ['pods with a deadline', workload('daemonsets', { template: spoiled({ activeDeadlineSeconds: 5 }) }), 'spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in DaemonSet is not Supported'],
    ['no containers', workload('deployments', { template: spoiled({ containers: [] }) }), 'spec.template.spec.containers: Required value'],
    ['no way to roll out', workload('deployments', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } } }), 'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"0%"}: may not be 0 when `maxSurge` is 0'],
    ['more than all', workload('deployments', { strategy: { rollingUpdate: { maxUnavailable: '101%' } } }), /maxUnavailable: Invalid value: .*: must not be greater than 100%/],
    ['half a percentage', workload('deployments', { strategy: { rollingUpdate: { maxSurge: 'half' } } }), /^spec\.strategy\.rollingUpdate\.maxSurge: Invalid value: .*: a valid percent string must be/],
    ['limits without rolling', workload('deployments', { strategy: { type: 'Recreate', rollingUpdate: {} } }), "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ['a deadline before readiness', workload('deployments', { minReadySeconds: 10, progressDeadlineSeconds: 10 }), 'spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds'],
    ['surge beside absence', workload('daemonsets', { updateStrategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } }), 'spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: intstr.IntOrString{Type:0, IntVal:1, StrVal:""}: may not be set when maxUnavailable is non-zero'],
    ['neither', workload('daemonsets', { updateStrategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } }), 'spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0'],
    ['a partition below zero', workload('statefulsets', { updateStrategy: { rollingUpdate: { partition: -1 } } }), 'spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0'],
    ['a name that pods cannot have', workload('statefulsets', {}, { name: 'a.b' }), /^metadata\.name: Invalid value: "a\.b": must not contain dots/],
  ])('refuse %s', (_name, given, ...expected) => {
    expect(causesOf(given)).toEqual(matching(expected));
  });

  it('may mount the claims of a stateful set', () => {
    const claims = { volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } } }] };
    const mounting = spoiled({ containers: [{ name: 'c', image: 'x', volumeMounts: [{ name: 'data', mountPath: '/data' }] }] });
    expect(causesOf(workload('statefulsets', { ...claims, template: mounting }))).toEqual([]);
    expect(causesOf(workload('statefulsets', { template: mounting }))).toEqual(['spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"']);
  });

  it.each(['deployments', 'replicasets', 'daemonsets'])('%s keep their selector', (resource) => {
    const other = { app: 'web', tier: 'a' };
    const changed = workload(resource, { selector: { matchLabels: other }, template: { ...template, metadata: { labels: other } } });
    expect(causesOf(changed, workload(resource, {}))).toEqual(['spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"web", "tier":"a"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable']);
    expect(causesOf(workload(resource, { template: spoiled({ hostNetwork: true }) }), workload(resource, {}))).toEqual([]);
  });

  it('stateful sets change in few parts', () => {
    const old = workload('statefulsets', {});
    expect(causesOf(workload('statefulsets', { replicas: 5, minReadySeconds: 3, updateStrategy: { type: 'OnDelete' }, template: spoiled({ hostNetwork: true }) }), old)).toEqual([]);
    expect(causesOf(workload('statefulsets', { serviceName: 'other' }), old)).toEqual([
      "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ]);
  });
});

describe('disruption budgets', () => {
  const budget = (spec: object): string[] => causesOf(object('poddisruptionbudgets.policy', { spec: { selector, ...spec } }));
  it('say one of two things', () => {
    expect(budget({ minAvailable: 1 })).toEqual([]);
    expect(budget({ minAvailable: 1, maxUnavailable: 1 })).toEqual([expect.stringMatching(/^spec: Invalid value: .*: minAvailable and maxUnavailable cannot be both set$/)]);
    expect(budget({ maxUnavailable: '120%' })).toEqual([expect.stringContaining('must not be greater than 100%')]);
    expect(budget({ minAvailable: -1 })).toEqual(['spec.minAvailable: Invalid value: -1: must be greater than or equal to 0']);
  });
});

describe('priority classes', () => {
  const priority = (value: object, name = 'x'): Shape => object('priorityclasses.scheduling.k8s.io', { metadata: { name, namespace: undefined }, ...value });
  it('stay below those of the system, and as they are', () => {
    expect(causesOf(priority({ value: 1e9 }))).toEqual([]);
    expect(causesOf(priority({ value: 1e9 + 1 }))).toEqual(['value: Forbidden: maximum allowed value of a user defined priority is 1000000000']);
    expect(causesOf(priority({ value: 1 }, 'system-mine'))).toEqual(["metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class"]);
    expect(causesOf(priority({ value: 2 }), priority({ value: 1 }))).toEqual(['value: Forbidden: may not be changed in an update.']);
    expect(causesOf(priority({ value: 1, preemptionPolicy: 'Never' }), priority({ value: 1 }))).toEqual(['preemptionPolicy: Invalid value: "Never": field is immutable']);
  });
});

describe('nodes', () => {
  const node = (taints: object[]): Shape => object('nodes', { metadata: { namespace: undefined }, spec: { taints } });
  it('have each taint once', () => {
    expect(causesOf(node([{ key: 'a', effect: 'NoSchedule' }, { key: 'a', effect: 'NoExecute' }]))).toEqual([]);
    expect(causesOf(node([{ key: 'a', effect: 'NoSchedule' }, { key: 'a', value: 'b', effect: 'NoSchedule' }]))).toEqual([expect.stringMatching(/^metadata\.taints\[1\]: Duplicate value: .*: taints must be unique by key and effect pair$/)]);
    expect(causesOf(node([{ key: 'a b', effect: 'NoSchedule' }]))).toEqual([expect.stringMatching(/^metadata\.taints\[0\]\.key: Invalid value: "a b"/)]);
  });
});
