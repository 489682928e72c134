import { expect, it } from '@jest/globals';
import type { KubeObject } from '../meta.ts';
import { kindByResource } from '../registry.ts';

const now = Date.parse('2026-01-02T03:10:00Z');
const template = { spec: { containers: [{ name: 'a', image: 'x:1' }, { name: 'b', image: 'y' }] } };
const selector = { matchLabels: { app: 'web' } };

/** What `kubectl get -o wide` shows: header and row. */
function wide(resource: string, object: object): [string, string] {
  const { columns } = kindByResource.get(resource)!;
  const whole = { metadata: { name: 'x', creationTimestamp: '2026-01-02T03:00:00Z' }, ...object } as unknown as KubeObject;
  return [columns.map(({ name, priority }) => `${name.toUpperCase()}${priority === 1 ? '*' : ''}`).join('|'), columns.map(({ cell }) => String(cell(whole, now))).join('|')];
}

it.each<[string, object, string, string]>([
  ['deployments.apps', { spec: { replicas: 3, selector, template }, status: { readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1 } }, 'NAME|READY|UP-TO-DATE|AVAILABLE|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|2/3|3|1|10m|a,b|x:1,y|app=web'],
  ['deployments.apps', { spec: { replicas: 0, selector, template } }, 'NAME|READY|UP-TO-DATE|AVAILABLE|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|0/0|0|0|10m|a,b|x:1,y|app=web'],
  ['replicasets.apps', { spec: { replicas: 3, selector, template }, status: { replicas: 2, readyReplicas: 1 } }, 'NAME|DESIRED|CURRENT|READY|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|3|2|1|10m|a,b|x:1,y|app=web'],
  ['statefulsets.apps', { spec: { replicas: 3, selector, template }, status: { readyReplicas: 2 } }, 'NAME|READY|AGE|CONTAINERS*|IMAGES*', 'x|2/3|10m|a,b|x:1,y'],
  [
    'daemonsets.apps', { spec: { selector, template: { spec: { ...template.spec, nodeSelector: { b: '2', a: '1' } } } }, status: { desiredNumberScheduled: 3, currentNumberScheduled: 2, numberReady: 1, updatedNumberScheduled: 2 } },
    'NAME|DESIRED|CURRENT|READY|UP-TO-DATE|AVAILABLE|NODE SELECTOR|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|3|2|1|2|0|a=1,b=2|10m|a,b|x:1,y|app=web',
  ],
  ['jobs.batch', { spec: { completions: 3, parallelism: 2, selector, template }, status: { succeeded: 1, startTime: '2026-01-02T03:08:00Z' } }, 'NAME|STATUS|COMPLETIONS|DURATION|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|Running|1/3|2m|10m|a,b|x:1,y|app=web'],
  [
    'jobs.batch', { spec: { parallelism: 2, template }, status: { succeeded: 2, startTime: '2026-01-02T03:08:00Z', completionTime: '2026-01-02T03:08:07Z', conditions: [{ type: 'Complete', status: 'True' }] } },
    'NAME|STATUS|COMPLETIONS|DURATION|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|Complete|2/1 of 2|7s|10m|a,b|x:1,y|<none>',
  ],
  ['jobs.batch', { spec: { parallelism: 1, template }, status: { conditions: [{ type: 'Suspended', status: 'True' }] } }, 'NAME|STATUS|COMPLETIONS|DURATION|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|Suspended|0/1||10m|a,b|x:1,y|<none>'],
  [
    'cronjobs.batch', { spec: { schedule: '* * * * *', suspend: false, jobTemplate: { spec: { template } } }, status: { active: [{}], lastScheduleTime: '2026-01-02T03:09:30Z' } },
    'NAME|SCHEDULE|TIMEZONE|SUSPEND|ACTIVE|LAST SCHEDULE|AGE|CONTAINERS*|IMAGES*|SELECTOR*', 'x|* * * * *|<none>|False|1|30s|10m|a,b|x:1,y|<none>',
  ],
  ['poddisruptionbudgets.policy', { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 1 } }, 'NAME|MIN AVAILABLE|MAX UNAVAILABLE|ALLOWED DISRUPTIONS|AGE', 'x|50%|N/A|1|10m'],
  ['priorityclasses.scheduling.k8s.io', { value: 7, preemptionPolicy: 'Never' }, 'NAME|VALUE|GLOBAL-DEFAULT|AGE|PREEMPTIONPOLICY', 'x|7|false|10m|Never'],
  ['serviceaccounts', { secrets: [{}] }, 'NAME|SECRETS|AGE', 'x|1|10m'],
  ['leases.coordination.k8s.io', { spec: { holderIdentity: 'me' } }, 'NAME|HOLDER|AGE', 'x|me|10m'],
  [
    'controllerrevisions.apps', { revision: 2, metadata: { name: 'x', creationTimestamp: '2026-01-02T03:00:00Z', ownerReferences: [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', controller: true }] } },
    'NAME|CONTROLLER|REVISION|AGE', 'x|daemonset.apps/d|2|10m',
  ],
  [
    'events', { type: 'Normal', reason: 'Pulled', message: ' m ', count: 2, involvedObject: { kind: 'Pod', name: 'p', fieldPath: 'spec.containers{c}' }, source: { component: 'kubelet', host: 'n' }, firstTimestamp: '2026-01-02T03:00:00Z', lastTimestamp: '2026-01-02T03:09:00Z' },
    'LAST SEEN|TYPE|REASON|OBJECT|SUBOBJECT*|SOURCE*|MESSAGE|FIRST SEEN*|COUNT*|NAME*', '60s|Normal|Pulled|pod/p|spec.containers{c}|kubelet, n|m|10m|2|x',
  ],
  ['nodes', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }], nodeInfo: { kubeletVersion: 'v1' } }, spec: { unschedulable: true } }, 'NAME|STATUS|ROLES|AGE|VERSION|INTERNAL-IP*|EXTERNAL-IP*|OS-IMAGE*|KERNEL-VERSION*|CONTAINER-RUNTIME*', 'x|NotReady,SchedulingDisabled|<none>|10m|v1|<none>|<none>|<unknown>|<unknown>|<unknown>'],
  [
    'runtimes.roundsman.io',
    {
      spec: { kind: 'Deployment', workload: 'netreach-mesh-0123456789', families: ['v4', 'v6'], ingress: true, task: { kind: 'NetReach', name: 'mesh' } },
      status: {
        phase: 'Degraded', desired: 3, ready: 2, runners: [{ runner: 'a', node: 'n', ready: true }, { runner: 'b', node: 'm', ready: false, reason: 'no image' }], conditions: [{ type: 'Ready', status: 'True', message: 'm' }],
        paths: { services: [{ clusterIP: '10.96.0.9', loadBalancer: [{ ip: '10.97.0.1' }] }, { clusterIP: 'fd00::9' }], ingress: { addresses: [{ hostname: 'lb.example' }] } },
      },
    },
    'NAME|KIND|READY|PHASE|TASK|AGE|PROBLEM|WORKLOAD*|CLUSTER-IP*|EXTERNAL-IP*|INGRESS*', 'x|Deployment|2/3|Degraded|netreach/mesh|10m|no image|netreach-mesh-0123456789|10.96.0.9,fd00::9|10.97.0.1|lb.example',
  ],
  ['runtimes.roundsman.io', { spec: { kind: 'Process', families: [], ingress: false } }, 'NAME|KIND|READY|PHASE|TASK|AGE|PROBLEM|WORKLOAD*|CLUSTER-IP*|EXTERNAL-IP*|INGRESS*', 'x|Process|0/0|Creating|<all>|10m|null|null|null|null|null'],
  ['runners.roundsman.io', { status: { node: 'n', ready: true, runtime: 'default', pod: 'roundsman-system/p', version: '1' } }, 'NAME|NODE|READY|RUNTIME|AGE|POD*|VERSION*|REASON*', 'x|n|True|default|10m|roundsman-system/p|1|null'],
  [
    'netreaches.roundsman.io', { spec: { schedule: { roundNumber: 1 } }, status: { resource: { runtimeName: 'probe-runner', runtimeType: 'DaemonSet', runtimeStatus: 'created' } } },
    'NAME|SCHEDULE|ROUNDS|LAST RESULT|NEXT|AGE|FINISHED*|NODES*|PROBLEM*|RUNTIME*', 'x|once|0/1|null|null|10m|false|null|null|daemonset/probe-runner',
  ],
  [
    'netdnses.roundsman.io',
    { spec: { schedule: { roundNumber: 1 } }, status: { history: [{ status: 'ongoing' }], conditions: [{ type: 'Scheduled', status: 'False', message: 's' }, { type: 'RuntimeReady', status: 'True', message: 'r' }, { type: 'TargetsFound', status: 'False', message: 'no such Service' }] } },
    'NAME|SCHEDULE|ROUNDS|LAST RESULT|NEXT|AGE|FINISHED*|NODES*|PROBLEM*|RUNTIME*', 'x|once|0/1|null|running|10m|false|null|no such Service|null',
  ],
  ...(['InvalidSchedule', 'WaitingForRunner', 'Suspended'] as const).map((reason): [string, object, string, string] => [
    'netreaches.roundsman.io',
    { spec: { schedule: { roundNumber: 1 } }, status: { conditions: [{ type: 'Scheduled', status: 'False', reason, message: 'why' }, { type: 'RuntimeReady', status: 'True', message: 'r' }] } },
    'NAME|SCHEDULE|ROUNDS|LAST RESULT|NEXT|AGE|FINISHED*|NODES*|PROBLEM*|RUNTIME*', `x|once|0/1|null|null|10m|false|null|${reason === 'Suspended' ? 'null' : 'why'}|null`,
  ]),
  [
    'netreaches.roundsman.io',
    { spec: { schedule: { roundNumber: 1 } }, status: { history: [{ status: 'succeed' }], conditions: [{ type: 'RuntimeReady', status: 'False', message: 'no room' }] } },
    'NAME|SCHEDULE|ROUNDS|LAST RESULT|NEXT|AGE|FINISHED*|NODES*|PROBLEM*|RUNTIME*', 'x|once|0/1|null|null|10m|false|0/0/0|null|null',
  ],
  ...([
    [{ state: 'fail', successRate: 0, totals: { planned: 0, sent: 0 } }, 'null'],
    [{ state: 'canceled', successRate: 0, totals: { planned: 10, sent: 0 } }, 'null'],
    [{ state: 'fail', successRate: 0, totals: { planned: 10, sent: 0 } }, '0%'],
    [{ state: 'succeed', successRate: 0.98765, totals: { planned: 10, sent: 10 } }, '98.76%'],
  ] as const).map(([status, success]): [string, object, string, string] => [
    'reports.roundsman.io', { status }, 'NAME|KIND|TASK|ROUND|STATE|VERDICT|SUCCESS|P50|P99|AGE|OK*|FAILED*|MISSING*|SUMMARY*', `x|null|null|null|${status.state}|null|${success}|null|null|10m|0|0|0|null`,
  ]),
])('%s', (resource, object, header, row) => expect(wide(resource, object)).toEqual([header, row]));
