/** kdoctor's own end-to-end scenarios by their numbers, as manifests of its group; what they ask of servers is counted under the number. */
export interface Scenario {
  readonly id: string;
  readonly kind: 'AppHttpHealthy' | 'Netdns' | 'NetReach';
  readonly spec: Record<string, unknown>;
  readonly ends: 'succeed' | 'fail';
  /** Whether servers of the test counted its requests: then every one of them. */
  readonly counted: boolean;
}

/** Where the servers of the scenarios answer. */
export interface Servers {
  readonly service: string;
  readonly pod: string;
}

export const load = { durationInSecond: 2, qps: 10, perRequestTimeoutInMS: 15_000 };
/** Of one runner to one target. */
export const requestsEach = load.durationInSecond * load.qps;
const once = { schedule: '0 1', roundTimeoutMinute: 1, roundNumber: 1 };
const cron = { ...once, schedule: '* * * * *' };
const generous = { successRate: 1, meanAccessDelayInMs: 7_000 };

type Wanted = Partial<{ ends: Scenario['ends']; expect: object; query: string; schedule: object }>;

const http = (id: string, target: (servers: Servers) => Record<string, unknown> & { host: string }, { ends = 'succeed', expect = generous, query = '', schedule = once }: Wanted = {}) =>
  (servers: Servers): Scenario => {
    const { host, ...more } = target(servers);
    return { id, kind: 'AppHttpHealthy', ends, counted: id !== 'a00005', spec: { schedule, request: load, expect, target: { method: 'GET', enableLatencyMetric: true, ...more, host: `${host}/?task=${id}${query}` } } };
  };
const plain = (method: string, more: object = {}) => ({ service }: Servers) => ({ host: `http://${service}`, method, ...more });

const dns = (id: string, server: (servers: Servers) => object, request: object, schedule: object = once) =>
  (servers: Servers): Scenario => ({ id, kind: 'Netdns', ends: 'succeed', counted: 'domain' in request && String(request.domain).startsWith('netdns-e2e'), spec: { schedule, request: { ...load, ...request }, expect: generous, target: server(servers) } });
const kubeDns = () => ({ targetDns: { serviceName: 'kube-dns', serviceNamespace: 'kube-system', testIPv4: true } });
const inCluster = { domain: 'kube-dns.kube-system.svc.cluster.local', protocol: 'udp' };

export const mesh = { ipv4: true, ipv6: false, endpoint: true, clusterIP: true, nodePort: true, loadBalancer: true, ingress: true, multusInterface: false };
const reach = (id: string, schedule: object) => (): Scenario => ({ id, kind: 'NetReach', ends: 'succeed', counted: false, spec: { schedule, request: load, expect: generous, target: mesh } });

/** Secret and ConfigMap that scenarios name. */
export const secretName = 'kdoctor-tls';
export const bodyName = 'kdoctor-body';
const verified = { tlsSecretName: secretName, tlsSecretNamespace: 'default' };

export const scenarios: readonly ((servers: Servers) => Scenario)[] = [
  http('a00001', plain('GET')),
  http('a00002', plain('GET'), { ends: 'fail', expect: { ...generous, statusCode: 205 } }),
  http('a00003', plain('GET'), { ends: 'fail', expect: { successRate: 1, meanAccessDelayInMs: 200 }, query: '&delay=1' }),
  http('a00004', ({ pod }) => ({ host: `https://${pod}:8443`, ...verified })),
  // Its certificate does not name the address of the Service.
  http('a00005', ({ service }) => ({ host: `https://${service}`, ...verified }), { ends: 'fail' }),
  http('a00006', plain('PUT')),
  http('a00007', plain('POST', { bodyConfigmapName: bodyName, bodyConfigmapNamespace: 'default', header: ['Content-Type: application/json'] })),
  http('a00008', plain('HEAD')),
  http('a00009', plain('PATCH')),
  http('a00010', plain('OPTIONS')),
  http('a00011', plain('GET')),
  http('a00012', plain('GET'), { expect: { successRate: 0.2, meanAccessDelayInMs: 7_000 }, query: '&delay=1' }),
  http('a00013', ({ service }) => ({ host: `https://${service}`, http2: true })),
  reach('b00001', once),
  reach('c00001', cron),
  dns('c00002', kubeDns, inCluster, cron),
  http('c00003', plain('GET'), { schedule: cron }),
  dns('d00001', kubeDns, inCluster),
  dns('d00002', ({ service }) => ({ targetUser: { server: service, port: 53 } }), { domain: 'netdns-e2e-d00002.test', protocol: 'udp' }),
  dns('d00003', ({ service }) => ({ targetUser: { server: service, port: 53 } }), { domain: 'netdns-e2e-d00003.test', protocol: 'tcp' }),
  dns('d00004', ({ service }) => ({ targetUser: { server: service, port: 853 } }), { domain: 'netdns-e2e-d00004.test', protocol: 'tcp-tls' }),
];

/** The name under which servers counted a scenario. */
export const counterOf = ({ id, kind }: Scenario): string => (kind === 'Netdns' ? `netdns-e2e-${id}` : id);
