import { deployment } from './manifests.ts';
import { chapter } from './step.ts';

const { steps, step, bad, explain, until } = chapter('services');

/** A service with what stands in its spec, in one line each. */
const service = (name: string, ...spec: string[]): string => `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec:\n${spec.map((line) => `  ${line}\n`).join('')}`;
const web = 'ports: [{port: 80}]';

step('create service clusterip', 'create service clusterip plain --tcp=80:8080 --tcp=443');
step('get service', 'get svc plain');
step('get service wide', 'get service plain -o wide');
step('get service yaml', 'get service plain -o yaml');
step('describe service', 'describe service plain');
step('service of no pod', 'get endpoints plain');
step('create service headless', 'create service clusterip bare --clusterip=None');
step('get service headless yaml', 'get service bare -o yaml');
step('create service nodeport', 'create service nodeport outside --tcp=80:8080 --node-port=30050');
step('get service nodeport', 'get service outside');
step('get service nodeport yaml', 'get service outside -o yaml');
step('create service nodeport taken', 'create service nodeport again --tcp=80 --node-port=30050');
step('create service nodeport out of range', 'create service nodeport again --tcp=80 --node-port=80');
step('create service nodeport chosen', 'create service nodeport chosen --tcp=80');
step('get service nodeport chosen', 'get service chosen');
step('create service loadbalancer', 'create service loadbalancer balanced --tcp=5678:8080');
step('get service loadbalancer yaml', "get service balanced -o jsonpath='{.spec.type} {.spec.allocateLoadBalancerNodePorts} {.spec.externalTrafficPolicy} {.spec.internalTrafficPolicy} {.spec.ports}'");
step('create service externalname', 'create service externalname alias --external-name=example.com');
step('get service externalname', 'get service alias');
step('get service externalname yaml', 'get service alias -o yaml');
step('describe service externalname', 'describe service alias');
step('create service twice', 'create service clusterip plain --tcp=80');
step('services by type', 'get services --field-selector=spec.type=ExternalName');
step('services by address', 'get services --field-selector=spec.clusterIP=None -o name');

// Addresses that are asked for.
step('service with address', 'create -f s.yaml', { 's.yaml': service('fixed', 'clusterIP: 10.96.0.50', web) });
bad('address taken', service('more', 'clusterIP: 10.96.0.50', web));
bad('address out of range', service('more', 'clusterIP: 10.1.1.1', web));
bad('address that is none', service('more', 'clusterIP: ten', web));
bad('address of another family', service('more', 'clusterIP: "fd00::1"', web));
bad('two families', service('more', 'ipFamilyPolicy: RequireDualStack', web));
bad('unknown family', service('more', 'ipFamilies: [IPv6]', web));
step('service dry run', "create -f s.yaml --dry-run=server -o jsonpath='{.spec.clusterIP} {.spec.clusterIPs}'", { 's.yaml': service('dry', 'clusterIP: 10.96.0.51', web) });
step('service after dry run', 'create -f s.yaml', { 's.yaml': service('wet', 'clusterIP: 10.96.0.51', web) });
step('service prefers two families', `create -f s.yaml -o jsonpath='{.spec.ipFamilies} {.spec.ipFamilyPolicy}'`, { 's.yaml': service('both', 'ipFamilyPolicy: PreferDualStack', web) });
step('service headless without pods', `create -f s.yaml -o jsonpath='{.spec.ipFamilies} {.spec.ipFamilyPolicy}'`, { 's.yaml': service('nobody', 'clusterIP: None') });

// What may change, and what becomes of what was given.
step('service apply', 'apply -f s.yaml', { 's.yaml': service('changing', 'clusterIP: 10.96.0.60', 'selector: {app: web}', 'ports: [{name: http, port: 80}]') });
step('service apply port', 'apply -f s.yaml', { 's.yaml': service('changing', 'selector: {app: web}', 'type: NodePort', 'ports: [{name: http, port: 81, nodePort: 30051}]') });
step('get service applied', 'get service changing -o yaml');
step('service change address', `patch service changing -p '{"spec":{"clusterIP":"10.96.0.61","clusterIPs":["10.96.0.61"]}}'`);
step('service to headless', `patch service changing -p '{"spec":{"clusterIP":"None","clusterIPs":["None"],"type":"ClusterIP"}}'`);
step('service to clusterip', `patch service changing -p '{"spec":{"type":"ClusterIP"}}'`);
step('get service no nodeport', 'get service changing -o yaml');
step('service nodeport free again', 'create service nodeport freed --tcp=80 --node-port=30051');
step('service to externalname', `patch service changing -p '{"spec":{"type":"ExternalName","externalName":"example.org"}}'`);
step('get service no address', 'get service changing -o yaml');
step('service address free again', 'create -f s.yaml', { 's.yaml': service('successor', 'clusterIP: 10.96.0.60', web) });
step('service from externalname', `patch service changing -p '{"spec":{"type":"ClusterIP"}}'`);
step('get service again', "get service changing -o jsonpath='{.spec.type} {.spec.clusterIP} {.spec.externalName} {.spec.ipFamilies}'");
step('service local', 'create -f s.yaml', { 's.yaml': service('near', 'type: LoadBalancer', 'loadBalancerClass: example.com/other', 'externalTrafficPolicy: Local', 'healthCheckNodePort: 30060', 'ports: [{port: 80, nodePort: 30061}]') });
step('get service local', 'get service near -o yaml');
step('service change health port', `patch service near -p '{"spec":{"healthCheckNodePort":30062}}'`);
step('service not local', `patch service near -p '{"spec":{"externalTrafficPolicy":"Cluster"}}'`);
step('get service not local', "get service near -o jsonpath='{.spec.externalTrafficPolicy} {.spec.healthCheckNodePort}'");
step('service status', `patch service near --subresource=status -p '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"}]}}}'`);
step('get service with balancer', 'get service near');
step('get service status', "get service near -o jsonpath='{.status}'");
step('service no balancer', `patch service near -p '{"spec":{"type":"ClusterIP"}}'`);
step('get service without balancer', "get service near -o jsonpath='{.status} {.spec.allocateLoadBalancerNodePorts} {.spec.ports}'");
step('service with affinity', `create -f s.yaml -o jsonpath='{.spec.sessionAffinityConfig}'`, { 's.yaml': service('sticky', 'sessionAffinity: ClientIP', web) });
step('service both protocols', `create -f s.yaml`, { 's.yaml': service('names', 'type: NodePort', 'ports: [{name: u, port: 53, protocol: UDP, nodePort: 30070}, {name: t, port: 53}]') });
step('get service both protocols', 'get service names');
step('service patch ports', `patch service names -p '{"spec":{"ports":[{"name":"h","port":80}]}}' -o jsonpath='{.spec.ports[*].name}'`);
const applied = (port: string): Record<string, string> => ({ 's.yaml': service('governed', 'clusterIP: 10.96.0.80', `ports: [{name: http, port: 80, targetPort: ${port}}]`) });
step('service server-side apply', 'apply --server-side --field-manager=first -f s.yaml', applied('8080'));
step('service server-side conflict', 'apply --server-side --field-manager=second -f s.yaml', applied('9090'));
step('service managed fields', 'get service governed -o yaml --show-managed-fields');
step('set selector', 'set selector service plain app=other');
step('get selector', 'get service plain -o wide');
step('service external ips', `patch service plain -p '{"spec":{"externalIPs":["192.0.2.1"]}}'`);
step('get service external ips', 'get service plain -o wide');

// Bad input.
bad('service without ports', service('more', 'selector: {app: web}'));
bad('service without spec', 'apiVersion: v1\nkind: Service\nmetadata: {name: more}\n');
bad('service ports without names', service('more', 'ports: [{port: 80}, {port: 81}]'));
bad('service port twice', service('more', 'ports: [{name: a, port: 80}, {name: a, port: 80}]'));
bad('service port range', service('more', 'ports: [{port: 70000, targetPort: "-", protocol: TCP}]'));
bad('service type', service('more', 'type: Mesh', web));
bad('service protocol', service('more', 'ports: [{port: 80, protocol: ICMP}]'));
bad('service name', service('1st', web));
bad('service selector', service('more', 'selector: {"a b": "c d"}', web));
bad('service nodeport of clusterip', service('more', 'ports: [{port: 80, nodePort: 30080}]'));
bad('service nodeport twice', service('more', 'type: NodePort', 'ports: [{name: a, port: 80, nodePort: 30080}, {name: b, port: 81, nodePort: 30080}]'));
bad('service headless nodeport', service('more', 'type: NodePort', 'clusterIP: None', web));
bad('service alias of nothing', service('more', 'type: ExternalName'));
bad('service alias', service('more', 'type: ExternalName', 'externalName: "a_b"', 'externalIPs: ["192.0.2.1"]'));
bad('service external ips', service('more', 'externalIPs: [127.0.0.1, x]', web));
bad('service source ranges', service('more', 'loadBalancerSourceRanges: [10.0.0.0]', web));
bad('service affinity', service('more', 'sessionAffinity: ClientIP', 'sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}', web));
bad('service traffic', service('more', 'externalTrafficPolicy: Local', 'internalTrafficPolicy: Cluster', 'trafficDistribution: Far', web));
bad('service unused name', service('more', 'externalName: example.com', web), 'create --dry-run=server -f bad.yaml');
bad('service addresses', service('more', 'clusterIP: 10.96.0.70', 'clusterIPs: [10.96.0.71]', web));
bad('service unknown field', service('more', 'sessionAfinity: None', web));

// What is behind them.
step('deployment to expose', 'create -f d.yaml', { 'd.yaml': deployment('exposed') });
step('expose', 'expose deployment exposed --port=80 --target-port=http');
step('expose nodeport', 'expose deployment exposed --type=NodePort --name=exposed-outside --port=80');
step('expose without port', 'expose pod web --name=of-pod');
step('expose service', 'expose service exposed --name=exposed-again --port=90');
step('get exposed', 'get service exposed -o wide');
step('get exposed yaml', 'get service exposed-outside -o yaml');
until('get endpoints exposed', /exposed\s+<none>/);
step('endpoints of pods on no node', 'get endpoints exposed exposed-outside');
until('get endpointslices -l kubernetes.io/service-name=exposed', /IPv4/);
step('slices of pods on no node', 'get endpointslices -l kubernetes.io/service-name=exposed');
step('slice yaml', 'get endpointslices -l kubernetes.io/service-name=exposed -o yaml');
step('get all exposed', 'get all -l app=exposed');
step('describe exposed', 'describe service exposed');
const endpoints = (subsets: string): string => `apiVersion: v1\nkind: Endpoints\nmetadata: {name: fixed}\nsubsets: ${subsets}\n`;
step('create endpoints', 'create -f e.yaml', { 'e.yaml': endpoints('[{addresses: [{ip: 192.0.2.10}, {ip: 192.0.2.11}], notReadyAddresses: [{ip: 192.0.2.12}], ports: [{port: 8080}]}]') });
step('get endpoints', 'get endpoints fixed');
step('get endpoints yaml', 'get endpoints fixed -o yaml');
step('describe endpoints', 'describe endpoints fixed');
bad('endpoints', endpoints('[{ports: [{port: 0}]}, {addresses: [{ip: 127.0.0.1}, {ip: x, nodeName: "A b"}]}]').replace('name: fixed', 'name: wrong'));
const slice = (type: string, list: string, ports: string): string => `apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: own, labels: {kubernetes.io/service-name: plain}}\naddressType: ${type}\nendpoints: ${list}\nports: ${ports}\n`;
step('create slice', 'create -f e.yaml', { 'e.yaml': slice('IPv4', '[{addresses: [192.0.2.20]}, {addresses: [192.0.2.21], conditions: {ready: false}, nodeName: node-a, zone: z}]', '[{port: 80}, {name: s, port: 443}]') });
step('get slice', 'get endpointslice own');
step('get slice yaml', 'get endpointslice own -o yaml');
step('describe slice', 'describe endpointslice own');
step('slice change type', `patch endpointslice own --type=merge -p '{"addressType":"IPv6"}'`);
step('slice patch ports', `patch endpointslice own --type=merge -p '{"ports":[{"port":81}]}' -o jsonpath='{.ports} {.metadata.generation}'`);
step('slice patch ports strategic', `patch endpointslice own -p '{"ports":[{"port":82}],"endpoints":[{"addresses":["192.0.2.22"]}]}' -o jsonpath='{.ports} {.endpoints} {.metadata.generation}'`);
step('slice without anything', 'create -f e.yaml -o yaml', { 'e.yaml': 'apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: none}\naddressType: FQDN\n' });
step('get slice without anything', 'get endpointslice none');
bad('slice', slice('IPv4', '[{addresses: ["fd00::1"]}, {addresses: []}, {addresses: [192.0.2.1], hostname: a.b, hints: {forZones: [{name: a}, {name: a}]}}]', '[{port: 80}, {port: 81}]'));
bad('slice type', slice('IPv5', '[]', '[]'));
step('delete services', 'delete service exposed exposed-outside');
step('delete exposed', 'delete deployment exposed');

explain('service');
explain('endpoints');
explain('endpointslice');

export const services = steps;
