import { describe, expect, it } from '@jest/globals';
import type { ApiError } from '../errors.ts';
import type { KubeObject } from '../meta.ts';
import { kindByResource } from '../registry.ts';
import { decode } from '../validation/decode.ts';

const read = (resource: string, object: object): KubeObject => decode(kindByResource.get(resource)!, { metadata: { name: 'x', uid: 'the-uid' }, ...object }, 'Strict').object;
const refusal = (resource: string, object: object): string => {
  try {
    read(resource, object);
  } catch (error) {
    return (error as ApiError).message;
  }
  throw new Error('it was not refused');
};

const container = { name: 'c', image: 'busybox:1.36' };
const template = { metadata: { creationTimestamp: null, labels: { a: 'b' } }, spec: { containers: [container] } };
const selector = { matchLabels: { a: 'b' } };
const madeContainer = { ...container, resources: {}, terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File', imagePullPolicy: 'IfNotPresent' };
const madePodSpec = { containers: [madeContainer], restartPolicy: 'Always', terminationGracePeriodSeconds: 30, dnsPolicy: 'ClusterFirst', schedulerName: 'default-scheduler', securityContext: {} };
const madeTemplate = { metadata: { creationTimestamp: null, labels: { a: 'b' } }, spec: madePodSpec };

describe('what the server makes of the shortest objects', () => {
  it('a pod', () => expect(read('pods', { spec: { containers: [container] } })).toMatchObject({ spec: { ...madePodSpec, enableServiceLinks: true }, status: { phase: 'Pending', qosClass: 'BestEffort' } }));
  it('a template has not what only pods have', () => expect(read('deployments.apps', { spec: { selector, template } }).spec).not.toHaveProperty('template.spec.enableServiceLinks'));
  it.each([
    ['deployments.apps', { selector, template }, { replicas: 1, selector, template: madeTemplate, strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } }, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }, {}],
    ['deployments.apps', { selector, template, strategy: { type: 'Recreate' } }, { replicas: 1, selector, template: madeTemplate, strategy: { type: 'Recreate' }, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }, {}],
    ['replicasets.apps', { selector, template }, { replicas: 1, selector, template: madeTemplate }, { replicas: 0 }],
    ['daemonsets.apps', { selector, template }, { selector, template: madeTemplate, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } }, revisionHistoryLimit: 10 }, { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 }],
    [
      'statefulsets.apps', { selector, template, serviceName: 's' },
      { replicas: 1, selector, template: madeTemplate, serviceName: 's', podManagementPolicy: 'OrderedReady', updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } }, revisionHistoryLimit: 10, persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' } },
      { replicas: 0, availableReplicas: 0 },
    ],
    [
      'cronjobs.batch', { schedule: '* * * * *', jobTemplate: { spec: { template } } },
      { schedule: '* * * * *', concurrencyPolicy: 'Allow', suspend: false, jobTemplate: { metadata: { creationTimestamp: null }, spec: { template: madeTemplate } }, successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 }, {},
    ],
    ['poddisruptionbudgets.policy', { maxUnavailable: 1 }, { maxUnavailable: 1 }, { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }],
  ])('%s', (resource, spec, made, status) => {
    const object = read(resource, { spec });
    expect(object.spec).toEqual(made);
    expect(object.status).toEqual(status);
  });
  it('a priority class and a lease', () => {
    expect(read('priorityclasses.scheduling.k8s.io', { value: 1 })).toMatchObject({ value: 1, preemptionPolicy: 'PreemptLowerPriority' });
    expect(read('leases.coordination.k8s.io', {})).toMatchObject({ spec: {} });
  });
});

it('an event shows what it does not say', () => {
  expect(read('events', { involvedObject: { name: 'p' }, reason: 'r' })).toEqual({
    apiVersion: 'v1', kind: 'Event', metadata: { name: 'x', uid: 'the-uid' }, involvedObject: { name: 'p' }, reason: 'r',
    eventTime: null, firstTimestamp: null, lastTimestamp: null, source: {}, reportingComponent: '', reportingInstance: '',
  });
});

describe('a job', () => {
  const spec = { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } };
  it('finds its own pods by its UID', () => {
    const labels = { a: 'b', 'batch.kubernetes.io/controller-uid': 'the-uid', 'batch.kubernetes.io/job-name': 'x', 'controller-uid': 'the-uid', 'job-name': 'x' };
    expect(read('jobs.batch', { spec })).toMatchObject({
      metadata: { labels },
      spec: { parallelism: 1, completions: 1, backoffLimit: 6, completionMode: 'NonIndexed', suspend: false, manualSelector: false, podReplacementPolicy: 'TerminatingOrFailed', selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'the-uid' } }, template: { metadata: { labels } } },
    });
  });
  it('leaves the selector alone when told to', () => expect(read('jobs.batch', { spec: { ...spec, manualSelector: true, selector } })).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { selector } }));
  it('with parallelism alone is done with any success', () => expect(read('jobs.batch', { spec: { ...spec, parallelism: 3 } }).spec).not.toHaveProperty('completions'));
  it('with a limit for each index has none for all', () => expect(read('jobs.batch', { spec: { ...spec, backoffLimitPerIndex: 1 } })).toMatchObject({ spec: { backoffLimit: 2 ** 31 - 1 } }));
});

describe('parts of a pod', () => {
  const podOf = (more: object, spec: object = {}): Record<string, unknown> => (read('pods', { spec: { containers: [{ ...container, ...more }], ...spec } }).spec as { containers: Record<string, unknown>[] }).containers[0]!;
  it.each([
    ['busybox', 'Always'], ['busybox:latest', 'Always'], ['busybox:1', 'IfNotPresent'], ['host:5000/busybox', 'Always'], ['host:5000/busybox:2', 'IfNotPresent'], ['busybox@sha256:0123', 'IfNotPresent'], ['busybox:latest@sha256:0123', 'IfNotPresent'],
  ])('%s is pulled %s', (image, policy) => expect(podOf({ image })).toMatchObject({ imagePullPolicy: policy }));
  it('requests what it limits', () => {
    expect(podOf({ resources: { limits: { cpu: 0.5, memory: '1024Mi' }, requests: { cpu: '250m' } } })).toMatchObject({ resources: { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '250m', memory: '1Gi' } } });
    expect(podOf({ resources: { requests: { cpu: 1 } } })['resources']).toEqual({ requests: { cpu: '1' } });
  });
  it.each([
    [{ limits: { cpu: 1, memory: '1Gi' } }, 'Guaranteed'], [{ limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: '1000m', memory: '1024Mi' } }, 'Guaranteed'], [{ limits: { cpu: 1 } }, 'Burstable'],
    [{ limits: { cpu: 1, memory: '1Gi' }, requests: { cpu: '500m' } }, 'Burstable'], [{ requests: { memory: 1 } }, 'Burstable'], [{ requests: { memory: 0 } }, 'BestEffort'], [{ limits: { 'example.com/gpu': 1 } }, 'BestEffort'],
  ])('with %j it is %s', (resources, qosClass) => expect(read('pods', { spec: { containers: [{ ...container, resources }] } })).toMatchObject({ status: { qosClass } }));
  it('probes have their times, where a zero means none was said', () => {
    const times = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    expect(podOf({ readinessProbe: { httpGet: { port: 'http' }, periodSeconds: 0 } })['readinessProbe']).toEqual({ httpGet: { path: '/', port: 'http', scheme: 'HTTP' }, ...times });
    expect(podOf({ livenessProbe: { grpc: { port: 5 }, failureThreshold: 7 } })['livenessProbe']).toEqual({ grpc: { port: 5, service: '' }, ...times, failureThreshold: 7 });
  });
  it('ports speak TCP, and are those of the node in its network', () => {
    expect(podOf({ ports: [{ containerPort: 80 }] })['ports']).toEqual([{ containerPort: 80, protocol: 'TCP' }]);
    expect(podOf({ ports: [{ containerPort: 80 }] }, { hostNetwork: true })['ports']).toEqual([{ containerPort: 80, hostPort: 80, protocol: 'TCP' }]);
  });
  it('volumes and fields have modes and versions', () => {
    const volumes = [{ name: 'm', configMap: { name: 'm' } }, { name: 's', secret: { secretName: 's' } }, { name: 'd', downwardAPI: { items: [{ path: 'n', fieldRef: { fieldPath: 'metadata.name' } }] } }, { name: 'h', hostPath: { path: '/' } }, { name: 'p', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }];
    expect(read('pods', { spec: { containers: [container], volumes } })).toMatchObject({
      spec: {
        volumes: [
          { configMap: { name: 'm', defaultMode: 420 } }, { secret: { secretName: 's', defaultMode: 420 } }, { downwardAPI: { defaultMode: 420, items: [{ path: 'n', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }] } },
          { hostPath: { path: '/', type: '' } }, { projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }] } },
        ],
      },
    });
  });
  it('both names of the account are there', () => expect(read('pods', { spec: { containers: [container], serviceAccount: 'a' } })).toMatchObject({ spec: { serviceAccountName: 'a', serviceAccount: 'a' } }));
  it('with a gate it says that it waits', () => {
    expect(read('pods', { spec: { containers: [container], schedulingGates: [{ name: 'g' }] } })).toMatchObject({ status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', lastProbeTime: null }] } });
  });
});

it('counters of nothing are not shown, but for those that always are', () => {
  const spec = { selector, template };
  expect(read('deployments.apps', { spec, status: { replicas: 2, readyReplicas: 0, observedGeneration: 1 } }).status).toEqual({ replicas: 2, observedGeneration: 1 });
  expect(read('replicasets.apps', { spec, status: { replicas: 0, readyReplicas: 0 } }).status).toEqual({ replicas: 0 });
  expect(read('statefulsets.apps', { spec, status: { replicas: 0, availableReplicas: 0, currentReplicas: 0 } }).status).toEqual({ replicas: 0, availableReplicas: 0 });
  expect(read('jobs.batch', { spec: { template }, status: { active: 0, ready: 0, terminating: 0 } }).status).toEqual({ ready: 0, terminating: 0 });
});

it('nulls mean absent, wherever they stand in spec and status', () => {
  const nulls = { containers: [{ ...container, resources: { limits: null }, securityContext: null, env: null }], nodeSelector: null, volumes: [{ name: 'v', emptyDir: null }] };
  expect(read('pods', { spec: nulls, status: null })).toEqual(read('pods', { spec: { containers: [container], volumes: [{ name: 'v' }] } }));
});

it('nothing changes when an object is read again', () => {
  for (const [resource, spec] of [['pods', template.spec], ['deployments.apps', { selector, template }], ['jobs.batch', { template }], ['statefulsets.apps', { selector, template }], ['cronjobs.batch', { schedule: '* * * * *', jobTemplate: { spec: { template } } }]] as const) {
    const once = read(resource, { spec });
    expect(read(resource, structuredClone(once) as object)).toEqual(once);
  }
});

describe('what is refused', () => {
  it('an unknown field, by its path', () => {
    expect(refusal('deployments.apps', { spec: { selector, template: { ...template, spec: { containers: [{ ...container, bogus: 1 }], volumes: [{ name: 'v', gitRepo: {} }] } } } })).toBe(
      'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.template.spec.containers[0].bogus", unknown field "spec.template.spec.volumes[0].gitRepo"',
    );
  });
  it.each([
    [{ containers: [{ ...container, resources: { limits: { cpu: '1x' } } }] }, 'spec.containers[0].resources.limits.cpu: Invalid value: "1x": quantities must match the regular expression'],
    [{ containers: [container], restartPolicy: 'Sometimes' }, 'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    [{ containers: [{ image: 'x' }] }, 'spec.containers[0].name: Required value'],
    [{ containers: [container], volumes: [{ name: 'v', hostPath: '/dir' }] }, 'spec.volumes[0].hostPath: Invalid value: "/dir": must be of type object; write it as hostPath: {path: "/dir"}'],
    [{ containers: [{ ...container, ports: [{ containerPort: 'http' }] }] }, 'spec.containers[0].ports[0].containerPort: Invalid value: "http": must be of type'],
  ])('%j', (spec, message) => expect(refusal('pods', { spec })).toContain(message));
});

describe('what is empty', () => {
  it('is not stored where Kubernetes does not tell it from absent', () => {
    const nothing = { hostNetwork: false, nodeSelector: {}, tolerations: [], volumes: [], hostname: '', containers: [{ ...container, args: [], env: [{ name: 'E', value: '' }], tty: false, workingDir: '', resources: { limits: {} } }] };
    expect(read('pods', { metadata: { name: 'x', uid: 'the-uid', labels: {} }, spec: nothing })).toEqual(read('pods', { spec: { containers: [{ ...container, env: [{ name: 'E' }] }] } }));
  });
  it('is kept where it says something', () => {
    const spec = { automountServiceAccountToken: false, enableServiceLinks: false, shareProcessNamespace: false, affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: {}, topologyKey: 'k' }] } }, volumes: [{ name: 'v', emptyDir: {} }] };
    const securityContext = { privileged: false, runAsUser: 0 };
    expect(read('pods', { spec: { ...spec, containers: [{ ...container, securityContext }] } })).toMatchObject({ spec: { ...spec, containers: [{ securityContext }] } });
    expect(read('poddisruptionbudgets.policy', { spec: { maxUnavailable: 0, selector: {} } }).spec).toEqual({ maxUnavailable: 0, selector: {} });
    expect(read('statefulsets.apps', { spec: { selector, template, volumeClaimTemplates: [{ metadata: { name: 'd' }, spec: { storageClassName: '' } }] } })).toMatchObject({ spec: { volumeClaimTemplates: [{ spec: { storageClassName: '' } }] } });
  });
});
