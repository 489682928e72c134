import { describe, expect, it } from '@jest/globals';
import { causesOf, object, type Shape } from '../testing/rules.ts';

const container = { name: 'c', image: 'busybox' };
const pod = (spec: object, metadata: object = {}): Shape => object('pods', { metadata, spec: { containers: [container], ...spec } });
const withContainer = (more: object, others: object[] = [], spec: object = {}): Shape => pod({ containers: [{ ...container, ...more }, ...others], ...spec });
const volume = { volumes: [{ name: 'v', emptyDir: {} }] };

describe('pods', () => {
  it('that are good have no causes', () => {
    const rich = pod({
      ...volume,
      initContainers: [{ name: 'init', image: 'x' }, { name: 'sidecar', image: 'x', restartPolicy: 'Always', readinessProbe: { httpGet: { port: 'http' } } }],
      containers: [
        {
          ...container,
          ports: [{ name: 'http', containerPort: 80, hostPort: 8080 }, { containerPort: 80, protocol: 'UDP', hostPort: 8080 }],
          env: [{ name: 'A_B.c-d', value: 'x' }, { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }, { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } }, { name: 'L', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }],
          envFrom: [{ prefix: 'X_', configMapRef: { name: 'm' } }],
          volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a/b' }],
          resources: { requests: { cpu: '100m' }, limits: { cpu: '0.1', 'example.com/gpu': 1 } },
          livenessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 5 },
          startupProbe: { exec: { command: ['true'] } },
          lifecycle: { preStop: { sleep: { seconds: 5 } } },
          securityContext: { runAsUser: 0, capabilities: { add: ['NET_ADMIN'] } },
        },
      ],
      tolerations: [{ operator: 'Exists' }, { key: 'a', effect: 'NoExecute', tolerationSeconds: 3 }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }] } }, podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ labelSelector: { matchLabels: { a: 'b' } }, topologyKey: 'kubernetes.io/hostname' }] } },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { a: 'b' } } }],
    });
    expect(causesOf(rich)).toEqual([]);
  });

  it.each<[name: string, pod: Shape, ...causes: (string | RegExp)[]]>([
    ['no containers', pod({ containers: [] }), 'spec.containers: Required value'],
    ['absent containers', object('pods', { spec: {} }), 'spec.containers: Required value'],
    ['a container without an image', withContainer({ image: undefined }), 'spec.containers[0].image: Required value'],
    ['an image with blanks', withContainer({ image: ' x' }), 'spec.containers[0].image: Invalid value: " x": must not have leading or trailing whitespace'],
    ['a bad container name', withContainer({ name: 'A_b' }), /^spec\.containers\[0\]\.name: Invalid value: "A_b": a lowercase RFC 1123 label must consist of/],
    ['two of a name', withContainer({}, [container]), 'spec.containers[1].name: Duplicate value: "c"'],
    ['an init container of that name', pod({ initContainers: [container] }), 'spec.initContainers[0].name: Duplicate value: "c"'],
    ['a probe of an init container', pod({ initContainers: [{ name: 'i', image: 'x', livenessProbe: { exec: { command: ['x'] } } }] }), 'spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always'],
    ['a restart policy of a container', withContainer({ restartPolicy: 'Always' }), 'spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers'],
    ['a port out of range', withContainer({ ports: [{ containerPort: 70000 }] }), 'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive'],
    ['two ports of a name', withContainer({ ports: [{ name: 'a', containerPort: 1 }, { name: 'a', containerPort: 2 }] }), 'spec.containers[0].ports[1].name: Duplicate value: "a"'],
    ['a long port name', withContainer({ ports: [{ name: 'a-port-with-a-long-name', containerPort: 1 }] }), 'spec.containers[0].ports[0].name: Invalid value: "a-port-with-a-long-name": must be no more than 15 characters'],
    ['one host port twice', withContainer({ ports: [{ containerPort: 1, hostPort: 5 }] }, [{ name: 'd', image: 'x', ports: [{ containerPort: 2, hostPort: 5 }] }]), 'spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//5"'],
    ['another port in the network of the node', withContainer({ ports: [{ containerPort: 80, hostPort: 81 }] }, [], { hostNetwork: true }), 'spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true'],
    ['a variable with =', withContainer({ env: [{ name: 'A=B' }] }), `spec.containers[0].env[0].name: Invalid value: "A=B": a valid environment variable name must consist only of printable ASCII characters other than '='`],
    ['a variable without a name', withContainer({ env: [{ name: '', value: 'x' }] }), 'spec.containers[0].env[0].name: Required value'],
    ['a variable with value and source', withContainer({ env: [{ name: 'A', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }), 'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ['a field that does not exist', withContainer({ env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.color' } } }] }), 'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.color": error converting fieldPath: field label not supported: spec.color'],
    ['a mount of nothing', withContainer({ volumeMounts: [{ name: 'nope', mountPath: '/x' }] }), 'spec.containers[0].volumeMounts[0].name: Not found: "nope"'],
    ['two mounts at a path', withContainer({ volumeMounts: [{ name: 'v', mountPath: '/x' }, { name: 'v', mountPath: '/x' }] }, [], volume), 'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/x": must be unique'],
    ['a subPath upwards', withContainer({ volumeMounts: [{ name: 'v', mountPath: '/x', subPath: '../etc' }] }, [], volume), `spec.containers[0].volumeMounts.subPath: Invalid value: "../etc": must not contain '..'`],
    ['two volumes of a name', pod({ volumes: [{ name: 'v', emptyDir: {} }, { name: 'v', emptyDir: {} }] }), 'spec.volumes[1].name: Duplicate value: "v"'],
    ['a volume of two things', pod({ volumes: [{ name: 'v', emptyDir: {}, hostPath: { path: '/' } }] }), 'spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type'],
    ['a hostPath upwards', pod({ volumes: [{ name: 'v', hostPath: { path: '/a/../b' } }] }), `spec.volumes[0].hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
    ['a mode', pod({ volumes: [{ name: 'v', configMap: { name: 'm', defaultMode: 0o1000 } }] }), 'spec.volumes[0].configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive'],
    ['a probe that asks nothing', withContainer({ readinessProbe: {} }), 'spec.containers[0].readinessProbe: Required value: must specify a handler type'],
    ['a probe that asks twice', withContainer({ readinessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } }), 'spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type'],
    ['a liveness probe with a threshold', withContainer({ livenessProbe: { exec: { command: ['x'] }, successThreshold: 2 } }), 'spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ['a negative delay', withContainer({ readinessProbe: { exec: { command: ['x'] }, initialDelaySeconds: -1 } }), 'spec.containers[0].readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0'],
    ['a request above the limit', withContainer({ resources: { requests: { cpu: '200m' }, limits: { cpu: '100m' } } }), 'spec.containers[0].resources.requests: Invalid value: "200m": must be less than or equal to cpu limit of 100m'],
    ['a negative limit', withContainer({ resources: { limits: { memory: '-1Mi' } } }), /spec\.containers\[0\]\.resources\.limits\[memory\]: Invalid value: "-1Mi": must be greater than or equal to 0/, /requests/],
    ['a quantity that is none', withContainer({ resources: { limits: { cpu: 'lots' } } }), /^spec\.containers\[0\]\.resources\.limits\.cpu: Invalid value: "lots": quantities must match the regular expression/],
    ['a resource of nobody', withContainer({ resources: { requests: { gpus: '1' } } }), /must be a standard resource type or fully qualified/, /must be a standard resource for containers/],
    ['a device in part', withContainer({ resources: { limits: { 'example.com/gpu': '500m' } } }), /limits\[example\.com\/gpu\]: Invalid value: "500m": must be an integer/, /requests/],
    ['a user', withContainer({ securityContext: { runAsUser: -1 } }), 'spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive'],
    ['rights that contradict', withContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }), /cannot set `allowPrivilegeEscalation` to false and `privileged` to true/],
    ['a toleration of everything by equality', pod({ tolerations: [{ operator: 'Equal' }] }), 'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"'],
    ['patience with the wrong effect', pod({ tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 3 }] }), `spec.tolerations[0].effect: Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`],
    ['affinity without terms', pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } } }), 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: must have at least one node selector term'],
    ['a weight', pod({ affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, podAffinityTerm: { topologyKey: 'zone' } }] } } }), 'spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100'],
    ['a skew of nothing', pod({ topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }] }), 'spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero'],
    ['a host name', pod({ hostname: 'a.b' }), /^spec\.hostname: Invalid value: "a\.b": must not contain dots/],
    ['a deadline', pod({ activeDeadlineSeconds: 0 }), 'spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ['a node selector', pod({ nodeSelector: { 'a b': 'c' } }), /^spec\.nodeSelector: Invalid value: "a b": name part must consist of/],
    ['DNS of its own without a server', pod({ dnsPolicy: 'None' }), 'spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    ['a restart policy', pod({ restartPolicy: 'Sometimes' }), 'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ['users of their own', pod({ hostUsers: false }), 'spec.hostUsers: Forbidden: false is not supported here: containers share the user namespace of their machine'],
    ['ephemeral containers from the start', pod({ ephemeralContainers: [{ name: 'e', image: 'x' }] }), 'spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ['a hostPath as text', pod({ volumes: [{ name: 'v', hostPath: '/data' }] }), 'spec.volumes[0].hostPath: Invalid value: "/data": must be of type object; write it as hostPath: {path: "/data"}'],
  ])('refuse %s', (_name, given, ...expected) => {
    expect(causesOf(given)).toEqual(expected.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text))));
  });

  it.each<[name: string, change: object, ...causes: (string | RegExp)[]]>([
    ['image', { containers: [{ ...container, image: 'other' }] }],
    ['one more toleration', { tolerations: [{ key: 'old', operator: 'Exists' }, { key: 'a', operator: 'Exists' }] }],
    ['deadline that gets shorter', { activeDeadlineSeconds: 5 }],
    ['command', { containers: [{ ...container, command: ['x'] }] }, /^spec: Forbidden: pod updates may not change fields other than `spec\.containers\[\*\]\.image`,`spec\.initContainers\[\*\]\.image`,`spec\.activeDeadlineSeconds`,`spec\.tolerations` \(only additions to existing tolerations\),`spec\.terminationGracePeriodSeconds` \(allow it to be set to 1 if it was previously negative\)\n- containers: .*\n\+ containers: .*"command":\["x"\]/],
    ['node', { nodeName: 'n' }, /pod updates may not change fields/],
    ['another container', { containers: [container, { name: 'd', image: 'x' }] }, 'spec.containers: Forbidden: pod updates may not add or remove containers'],
    ['toleration that is gone', { tolerations: [] }, 'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    ['one more look into it', { ephemeralContainers: [{ name: 'debug', image: 'x' }, { name: 'more', image: 'x' }] }],
    ['the look into it', { ephemeralContainers: [{ name: 'debug', image: 'y' }] }, 'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be changed\n'],
    ['deadline that gets longer', { activeDeadlineSeconds: 500 }, 'spec.activeDeadlineSeconds: Invalid value: 500: must be less than or equal to previous value'],
  ])('that change: %s', (_name, change, ...expected) => {
    const base = { tolerations: [{ key: 'old', operator: 'Exists' }], activeDeadlineSeconds: 50, ephemeralContainers: [{ name: 'debug', image: 'x' }] };
    expect(causesOf(pod({ ...base, ...change }), pod(base))).toEqual(expected.map((text) => (typeof text === 'string' ? text : expect.stringMatching(text))));
  });
});
