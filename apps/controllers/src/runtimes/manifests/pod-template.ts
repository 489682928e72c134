import { canonicalQuantity, runnerImage, runnerResources, tokenHashOf, type EnvVar, type ResourceRequirements } from '@roundsman/api';
import type { RuntimeFacts } from './facts.ts';
import { labelsOf, selectorOf, tokenAnnotation } from './labels.ts';

/** User of the image, who has no rights. */
const runnerUser = 65_532;
const terminationSeconds = 15;

const fieldRef = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } });

/** What the runner must be told, in an order in which `$(NAME)` stands behind what it refers to. */
function ownEnv({ runtime, ports, natsCa, settings }: RuntimeFacts): EnvVar[] {
  const of = (name: string, value: string): EnvVar => ({ name, value });
  const given = (name: string, value: string): EnvVar[] => (value === '' ? [] : [of(name, value)]);
  return [
    fieldRef('POD_NAME', 'metadata.name'),
    fieldRef('POD_NAMESPACE', 'metadata.namespace'),
    fieldRef('POD_IPS', 'status.podIPs'),
    fieldRef('ROUNDSMAN_NODE', 'spec.nodeName'),
    of('ROUNDSMAN_RUNNER_NAME', '$(POD_NAME).$(POD_NAMESPACE)'),
    of('ROUNDSMAN_RUNNER_POD', '$(POD_NAMESPACE)/$(POD_NAME)'),
    of('ROUNDSMAN_RUNTIME', runtime.metadata.name),
    of('ROUNDSMAN_DATA_DIR', runnerImage.data),
    of('TMPDIR', runnerImage.data),
    of('ROUNDSMAN_BIND_ADDRESSES', 'any'),
    of('ROUNDSMAN_RUNNER_ADVERTISE_ADDRESSES', '$(POD_IPS)'),
    of('ROUNDSMAN_RUNNER_HTTP_PORT', String(ports.http)),
    of('ROUNDSMAN_RUNNER_HTTPS_PORT', String(ports.https)),
    of('ROUNDSMAN_RUNNER_DNS_PORT', String(ports.dns)),
    of('ROUNDSMAN_RUNNER_DOT_PORT', String(ports.dot)),
    of('ROUNDSMAN_RUNNER_UDP_PORT', String(ports.udp)),
    of('ROUNDSMAN_RUNNER_ON_STOP', 'report'),
    of('ROUNDSMAN_NATS_URL', settings.runnerNatsUrl),
    of('ROUNDSMAN_NATS_TOKEN_FILE', `${runnerImage.secret}/${runnerImage.tokenKey}`),
    ...(natsCa === undefined ? [] : [of('ROUNDSMAN_NATS_CA_FILE', `${runnerImage.secret}/${runnerImage.caKey}`)]),
    ...given('ROUNDSMAN_RUNNER_CAPACITY_QPS', String(settings.runnerCapacityQps ?? '')),
    ...given('ROUNDSMAN_RUNNER_DENY', settings.runnerDeny),
    ...given('ROUNDSMAN_RUNNER_DENY_ENDPOINTS', settings.runnerDenyEndpoints),
    ...given('ROUNDSMAN_RUNNER_ALLOW', settings.runnerAllow),
  ];
}

/** The runner's own variables are nobody else's to set; of those given twice the last one counts. */
export function envOf(facts: RuntimeFacts): EnvVar[] {
  const own = ownEnv(facts);
  const reserved = new Set(own.map(({ name }) => name));
  const given = new Map((facts.agentSpec?.env ?? []).filter(({ name }) => !reserved.has(name)).map((one) => [one.name, one]));
  return [...own, ...given.values()];
}

const container = (protocol: 'TCP' | 'UDP') => (name: string, port: number, hostNetwork: boolean): object => ({ name, containerPort: port, protocol, ...(hostNetwork ? { hostPort: port } : {}) });
const tcp = container('TCP');
const udp = container('UDP');

/** As a server stores it: `0.5` of a CPU is `500m`. */
function canonicalResources(given: ResourceRequirements | undefined): object {
  return Object.fromEntries(Object.entries(runnerResources(given)).map(([kind, amounts]) => [kind, Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, canonicalQuantity(String(amount))]))]));
}

export function podTemplateOf(facts: RuntimeFacts): { metadata: object; spec: Record<string, unknown> } {
  const { runtime, agentSpec, ports, token, installation, settings } = facts;
  const hostNetwork = agentSpec?.hostNetwork === true;
  const isDaemon = runtime.spec.kind === 'DaemonSet';
  return {
    metadata: {
      labels: labelsOf(runtime, installation),
      annotations: { ...agentSpec?.annotation, [tokenAnnotation]: tokenHashOf(token).slice(0, 16) },
    },
    spec: {
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      ...(agentSpec?.affinity === undefined ? {} : { affinity: agentSpec.affinity }),
      ...(isDaemon
        ? { tolerations: [{ operator: 'Exists' }] }
        : // Several of them on one node say less about the cluster.
          { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: selectorOf(runtime) } }] }),
      ...(hostNetwork ? { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' } : { dnsPolicy: 'ClusterFirst' }),
      // A first question that is lost while Services are being set up costs a second, not the usual five: rounds wait for the log-in behind it.
      dnsConfig: { options: [{ name: 'timeout', value: '1' }, { name: 'attempts', value: '4' }] },
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: terminationSeconds,
      // Also where a namespace lets in none but restricted pods.
      securityContext: { runAsNonRoot: true, runAsUser: runnerUser, runAsGroup: runnerUser, seccompProfile: { type: 'RuntimeDefault' } },
      ...(settings.runnerImagePullSecrets.length === 0 ? {} : { imagePullSecrets: settings.runnerImagePullSecrets.map((name) => ({ name })) }),
      containers: [
        {
          name: 'probe-runner',
          image: settings.runnerImage,
          imagePullPolicy: settings.runnerImagePullPolicy,
          env: envOf(facts),
          ports: [
            tcp('http', ports.http, hostNetwork),
            tcp('https', ports.https, hostNetwork),
            udp('dns-udp', ports.dns, hostNetwork),
            tcp('dns-tcp', ports.dns, hostNetwork),
            tcp('dot', ports.dot, hostNetwork),
            udp('udp', ports.udp, hostNetwork),
          ],
          // One that is slow for a moment stays behind its Services: without it others would find these broken.
          readinessProbe: { httpGet: { path: runnerImage.probePath, port: 'http', scheme: 'HTTP' }, periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 3 },
          resources: canonicalResources(agentSpec?.resources),
          securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
          terminationMessagePolicy: 'FallbackToLogsOnError',
          volumeMounts: [
            { name: 'data', mountPath: runnerImage.data },
            { name: 'nats', mountPath: runnerImage.secret, readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'nats', secret: { secretName: runtime.spec.workload } },
      ],
    },
  };
}
