import { describe, expect, it } from '@jest/globals';
import { letterLabelProblem } from '../names.ts';
import { kindByResource } from '../registry.ts';
import { causesOf, object } from '../testing/rules.ts';
import { metadataCauses } from './metadata.ts';

const service = (spec: object, metadata = {}) => object('services', { metadata, spec });
const ports = [{ port: 80 }];

describe('services', () => {
  it.each<[string, object, string[]]>([
    ['no ports', {}, ['spec.ports: Required value']],
    ['two ports without names', { ports: [{ port: 80 }, { port: 81 }] }, ['spec.ports[0].name: Required value', 'spec.ports[1].name: Required value']],
    ['a port twice', { ports: [{ name: 'a', port: 80 }, { name: 'a', port: 80 }] }, [
      'spec.ports[1].name: Duplicate value: "a"',
      'spec.ports[1]: Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}',
    ]],
    ['a port that is none', { ports: [{ port: 70_000, targetPort: 'No_Port' }] }, [
      'spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: "No_Port": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ]],
    ['a type that is none', { type: 'Mesh', ports }, ['spec.type: Unsupported value: "Mesh": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"']],
    ['a name of nothing', { type: 'ExternalName' }, ['spec.externalName: Required value']],
    ['a name with addresses', { type: 'ExternalName', externalName: 'example.com', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }, [
      'spec.ipFamilies: Forbidden: may not be set for ExternalName services', 'spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services',
    ]],
    ['headless with ports on nodes', { type: 'NodePort', clusterIP: 'None', clusterIPs: ['None'], ports }, ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"]],
    ['too long an affinity', { ports, sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 90_000 } } }, ['spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400']],
    ['two addresses of one family', { ports, clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', '10.96.0.2'] }, ['spec.clusterIPs: Invalid value: []string{"10.96.0.1", "10.96.0.2"}: may specify no more than one IP for each IP family']],
    ['an outer address that means every machine', { ports, externalIPs: ['127.0.0.1', 'x'] }, [
      'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)', 'spec.externalIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ]],
    ['a policy for what does not come', { ports, externalTrafficPolicy: 'Local' }, ['spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services']],
    ['sources of nobody', { ports, loadBalancerSourceRanges: ['10.0.0.0'] }, [
      "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'", 'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
    ]],
  ])('%s', (_what, spec, causes) => expect(causesOf(service(spec))).toEqual(causes));

  it('names begin with a letter', () => expect(letterLabelProblem('1st')).toContain('a DNS-1035 label must'));
  it('of one kind of balancer stay so', () => {
    const balanced = (loadBalancerClass: string) => service({ type: 'LoadBalancer', ports, loadBalancerClass, externalTrafficPolicy: 'Cluster' });
    expect(causesOf(balanced('b.example/b'), balanced('a.example/a'))).toEqual(['spec.loadBalancerClass: Invalid value: "b.example/b": may not change once set']);
  });
});

describe('endpoints', () => {
  it('need addresses that are those of one machine', () => {
    expect(causesOf(object('endpoints', { subsets: [{ ports: [{ port: 0 }] }, { addresses: [{ ip: '169.254.1.1' }] }] }))).toEqual([
      'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`', 'subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'subsets[1].addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
    ]);
  });
  const slice = (addressType: string, addresses: string[], more = {}) => object('endpointslices.discovery.k8s.io', { addressType, endpoints: [{ addresses, ...more }], ports: [] });
  it.each<[string, Parameters<typeof slice>, string[]]>([
    ['another family', ['IPv4', ['fd00::1']], ['endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address']],
    ['none', ['IPv4', []], ['endpoints[0].addresses: Required value: must contain at least 1 address']],
    ['a name of one label', ['FQDN', ['web']], ['endpoints[0].addresses[0]: Invalid value: "web": should be a domain with at least two segments separated by dots']],
    ['a zone twice', ['IPv4', ['10.0.0.1'], { hints: { forZones: [{ name: 'a' }, { name: 'a' }] } }], ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"']],
    ['good ones', ['IPv6', ['fd00::1']], []],
  ])('of slices: %s', (_what, given, causes) => expect(causesOf(slice(...given))).toEqual(causes));
  it('of slices stay of their type', () => expect(causesOf(slice('IPv6', ['fd00::1']), slice('IPv4', ['10.0.0.1']))).toEqual(['addressType: Invalid value: "IPv6": field is immutable']));
});

describe('ingresses', () => {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  const of = (path: object, rule = {}) => object('ingresses.networking.k8s.io', { spec: { rules: [{ host: 'shop.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend, ...path }] }, ...rule }] } });
  const at = 'spec.rules[0].http.paths[0]';
  it.each<[string, ReturnType<typeof object>, string[]]>([
    ['nothing', object('ingresses.networking.k8s.io', { spec: {} }), ['spec: Invalid value: []networking.IngressRule(nil): either `defaultBackend` or `rules` must be specified']],
    ['a path that may mean another', of({ path: '/a/../b%2f' }), [`${at}.path: Invalid value: "/a/../b%2f": must not contain '/../'`, `${at}.path: Invalid value: "/a/../b%2f": must not contain '%2f'`]],
    ['a path that does not begin', of({ path: 'a' }), [`${at}.path: Invalid value: "a": must be an absolute path`]],
    ['no port', of({ backend: { service: { name: 'web' } } }), [`${at}.backend: Required value: port name or number is required`]],
    ['both ports', of({ backend: { service: { name: 'web', port: { name: 'http', number: 80 } } } }), [`${at}.backend: Invalid value: "": cannot set both port name & port number`]],
    ['no backend', of({ backend: {} }), [`${at}.backend: Invalid value: "": resource or service backend is required`]],
    ['an address for a host', of({}, { host: '10.0.0.1' }), ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address']],
    ['a star in the middle', of({}, { host: 'a.*.example' }), [expect.stringContaining('spec.rules[0].host: Invalid value: "a.*.example": a wildcard DNS-1123 subdomain must start with') as unknown as string]],
    ['a star in its place', of({}, { host: '*.example.com' }), []],
  ])('%s', (_what, given, causes) => expect(causesOf(given)).toEqual(causes));

  const ofClass = (controller: string, parameters?: object) => object('ingressclasses.networking.k8s.io', { metadata: { namespace: '' }, spec: { controller, parameters } });
  it('classes name who serves them', () => {
    expect(causesOf(ofClass('nobody'))).toEqual(['spec.controller: Invalid value: "nobody": must be a domain-prefixed path (such as "acme.io/foo")']);
    expect(causesOf(ofClass('b.example/b'), ofClass('a.example/a'))).toEqual(['spec.controller: Invalid value: "b.example/b": field is immutable']);
    expect(causesOf(ofClass('a.example/a', { kind: 'Config', name: 'x', scope: 'Namespace' }))).toEqual(["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"]);
  });
});

describe('names of several services', () => {
  const of = (host: string, ...paths: string[]) => object('dnses.roundsman.io', { spec: { host, paths: paths.map((path) => ({ path, service: { name: 'web', port: 80 } })) } });
  it.each<[string, ReturnType<typeof object>, string[]]>([
    ['an address', of('10.0.0.1', '/'), ['spec.host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address']],
    ['no name', of('Shop_1', '/'), [expect.stringContaining('spec.host: Invalid value: "Shop_1": a lowercase RFC 1123 subdomain must consist of') as unknown as string]],
    ['no path', of('shop.example'), ['spec.paths: Required value: at least one path must be given']],
    ['a path twice', of('shop.example', '/a', '/a/'), ['spec.paths[1].path: Duplicate value: "/a/"']],
    ['a path with a query', of('shop.example', '/a?b'), ['spec.paths[0].path: Invalid value: "/a?b": must not contain spaces, a query or a fragment']],
    ['a port that is none', object('dnses.roundsman.io', { spec: { host: 'shop.example', paths: [{ path: '/', service: { name: 'web', port: 0 } }] } }), ['spec.paths[0].service.port: Invalid value: 0: must be between 1 and 65535, inclusive']],
    ['good ones', of('shop.example', '/', '/a', '/b/c'), []],
  ])('%s', (_what, given, causes) => expect(causesOf(given)).toEqual(causes));
  it('leave room in theirs for that of their Ingress', () => {
    const problems = (length: number) => metadataCauses(kindByResource.get('dnses.roundsman.io')!, { name: 'n'.repeat(length), namespace: 'default' } as never).map(({ message }) => message);
    expect([problems(249), problems(250)]).toEqual([[], [expect.stringContaining('must be no more than 249 characters')]]);
  });
});
