import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../meta.ts';
import { viewOf } from './registry.ts';

/** A cluster of which nothing is known. */
const nothing = { get: () => undefined, list: () => [] };
const netReach = viewOf('kdoctor.io/v1beta1', 'netreaches.roundsman.io')!;
const http = viewOf('kdoctor.io/v1beta1', 'apphttphealthies.roundsman.io')!;
const dns = viewOf('kdoctor.io/v1beta1', 'netdnses.roundsman.io')!;
const meta = { name: 'x', uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: '2026-01-01T00:00:00Z' };
const stored = (object: object): KubeObject => ({ ...(object as KubeObject), metadata: { ...meta, namespace: 'default', ...(object as KubeObject).metadata } });

// The examples of the study, as people have them in their repositories.
const manifests = {
  NetReach: {
    apiVersion: 'kdoctor.io/v1beta1', kind: 'NetReach', metadata: { name: 'mesh-hourly' },
    spec: {
      schedule: { schedule: '0 60', roundTimeoutMinute: 10, roundNumber: -1 },
      request: { durationInSecond: 10, qps: 5, perRequestTimeoutInMS: 800 },
      expect: { successRate: 0.99, meanAccessDelayInMs: 300 },
      target: { ipv4: true, ipv6: false, endpoint: true, clusterIP: true, nodePort: true, loadBalancer: false, ingress: false },
    },
  },
  AppHttpHealthy: {
    apiVersion: 'kdoctor.io/v1beta1', kind: 'AppHttpHealthy', metadata: { name: 'shop-front' },
    spec: {
      agentSpec: { kind: 'Deployment', deploymentReplicas: 3, terminationGracePeriodMinutes: 5 },
      schedule: { schedule: '*/10 * * * *', roundTimeoutMinute: 5, roundNumber: 6 },
      request: { durationInSecond: 30, qps: 50, perRequestTimeoutInMS: 1000 },
      expect: { successRate: 1, statusCode: 200 },
      target: {
        host: 'https://10.96.14.3/orders', method: 'POST', header: ['Content-Type: application/json'], bodyConfigmapName: 'order-body', bodyConfigmapNamespace: 'shop',
        tlsSecretName: 'shop-client', tlsSecretNamespace: 'shop', http2: true,
      },
    },
  },
  Netdns: {
    apiVersion: 'kdoctor.io/v1beta1', kind: 'Netdns', metadata: { name: 'coredns-probe' },
    spec: {
      schedule: { schedule: '1 5', roundTimeoutMinute: 2, roundNumber: 12 },
      request: { durationInSecond: 20, qps: 40, perRequestTimeoutInMS: 500, domain: 'kubernetes.default.svc.cluster.local', protocol: 'udp' },
      expect: { successRate: 1, meanAccessDelayInMs: 50 },
      target: { targetDns: { serviceName: 'kube-dns', serviceNamespace: 'kube-system', testIPv4: true } },
    },
  },
};

describe('manifests written for kdoctor', () => {
  it.each([[netReach, manifests.NetReach], [http, manifests.AppHttpHealthy], [dns, manifests.Netdns]] as const)('%# are read back as they were written', (view, manifest) => {
    const { object, warnings } = view.fromView(manifest, undefined, 'Strict', nothing);
    expect(warnings).toEqual([]);
    expect(object).toMatchObject({ apiVersion: 'roundsman.io/v1', spec: { schedule: manifest.spec.schedule, request: manifest.spec.request } });
    const shown = view.toView(stored(object));
    expect(shown).toMatchObject(manifest);
    expect(shown.metadata).not.toHaveProperty('namespace');
  });
  it('get the defaults of kdoctor, where these can work', () => {
    const spec = (body: object): Record<string, Record<string, unknown>> => netReach.fromView({ metadata: { name: 'x' }, spec: body }, undefined, 'Strict', nothing).object['spec'] as never;
    expect(spec({}).request).toMatchObject({ durationInSecond: 2, qps: 10, perRequestTimeoutInMS: 500 });
    expect(spec({ request: {} }).request).toMatchObject({ durationInSecond: 2, qps: 5, perRequestTimeoutInMS: 500 });
    expect(spec({ schedule: { schedule: '0 1' } }).schedule).toEqual({ schedule: '0 1', roundNumber: 1 });
    expect(spec({}).target).toMatchObject({ endpoint: true, clusterIP: true, nodePort: true, loadBalancer: false, ingress: false, multusInterface: false });
  });
  it('keep what no stored field means in an annotation that the view hides', () => {
    const manifest = { metadata: { name: 'x', annotations: { a: 'b' } }, spec: { expect: { statusCode: 204 }, sourceAgentNodeSelector: { matchLabels: { a: 'b' } }, target: { targetUser: { server: '1.1.1.1' } } } };
    const { object } = dns.fromView(manifest, undefined, 'Strict', nothing);
    expect(object).not.toHaveProperty('spec.expect.statusCode');
    expect(object).not.toHaveProperty('spec.sourceAgentNodeSelector');
    const shown = dns.toView(stored(object));
    expect(shown).toMatchObject({ spec: { expect: { statusCode: 204 }, sourceAgentNodeSelector: { matchLabels: { a: 'b' } } }, metadata: { annotations: { a: 'b' } } });
    expect(Object.keys(shown.metadata.annotations!)).toEqual(['a']);
  });
  it('must not hold fields that kdoctor does not know, ours included', () => {
    const refused = (spec: object): unknown => {
      try {
        return netReach.fromView({ metadata: { name: 'x' }, spec }, undefined, 'Strict', nothing);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused({ suspend: true })).toBe('NetReach in version "v1beta1" cannot be handled as a NetReach: strict decoding error: unknown field "spec.suspend"');
    expect(refused({ schedule: { intervalSeconds: 3 } })).toContain('unknown field "spec.schedule.intervalSeconds"');
    expect(refused({ request: { qps: 0 } })).toBe('NetReach.kdoctor.io "x" is invalid: spec.request.qps: Invalid value: 0: must be greater than or equal to 1');
  });
});

describe('fields of our own', () => {
  const resource = { runtimeName: 'netdns-x-0123456789', runtimeType: 'Deployment', runtimeStatus: 'created', serviceNameV4: 'netdns-x-0123456789-v4' };
  const ours = stored({
    apiVersion: 'roundsman.io/v1', kind: 'NetDNS', metadata: { name: 'x' },
    spec: {
      suspend: true, schedule: { intervalSeconds: 30, roundTimeoutSeconds: 20, roundNumber: -1 }, request: { qps: 1, recordType: 'TXT', domain: 'a.b', protocol: 'tcp' },
      expect: { successRate: 1, rcode: 'NXDOMAIN', answers: ['x'] }, target: { targetUser: { server: '1.1.1.1', port: 53 }, tlsSecretName: 's' },
    },
    status: {
      observedGeneration: 1, doneRound: 2, lastRoundStatus: 'canceled', nextRoundTime: 't', conditions: [], resource, dnsServers: [{ service: 'kube-system/kube-dns', address: '10.96.0.10', port: 53 }],
      history: [{ roundNumber: 2, status: 'canceled', startTimeStamp: 's', deadLineTimeStamp: 'd', succeedAgentNodeList: [], failedAgentNodeList: [], notReportAgentNodeList: [] }],
    },
  });
  it('are not shown', () => {
    const { spec, status } = dns.toView(ours) as KubeObject<Record<string, object>, object>;
    expect(spec).toEqual({ schedule: { roundNumber: -1 }, request: { qps: 1, domain: 'a.b', protocol: 'tcp' }, expect: { successRate: 1 }, target: { targetUser: { server: '1.1.1.1', port: 53 } } });
    expect(status).toEqual({ doneRound: 2, lastRoundStatus: 'fail', resource, history: [expect.objectContaining({ roundNumber: 2, status: 'fail' })] });
  });
  it('are kept when the object is written through the view', () => {
    const shown = dns.toView(ours) as unknown as Record<string, Record<string, object>>;
    const { object } = dns.fromView({ ...shown, spec: { ...shown['spec'], request: { ...shown['spec']!['request'], qps: 7 } } }, ours, 'Strict', nothing);
    expect(object['spec']).toMatchObject({ ...(ours.spec as object), request: { qps: 7, recordType: 'TXT' } });
  });
  it('give way to a schedule that is written there', () => {
    const { object } = dns.fromView({ metadata: { name: 'x' }, spec: { schedule: { schedule: '0 5', roundTimeoutMinute: 2 }, target: { targetUser: { server: '1.1.1.1' } } } }, ours, 'Strict', nothing);
    expect((object['spec'] as { schedule: object }).schedule).toEqual({ schedule: '0 5', roundTimeoutMinute: 2, roundNumber: 1 });
  });
  it('do not bring back what was removed through the view', () => {
    const old = stored({ spec: { target: { host: 'h', header: ['A: b'], bodyConfigmapName: 'c' }, agentSpec: { kind: 'DaemonSet', env: [{ name: 'a' }] } } });
    const { object } = http.fromView({ metadata: { name: 'x' }, spec: { agentSpec: {}, target: { host: 'h' } } }, old, 'Strict', nothing);
    expect(object['spec']).not.toHaveProperty('target.header');
    expect(object['spec']).not.toHaveProperty('target.bodyConfigmapName');
    expect(object['spec']).not.toHaveProperty('agentSpec.env');
  });
});
