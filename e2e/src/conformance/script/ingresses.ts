import { chapter } from './step.ts';

const { steps, step, bad, explain } = chapter('ingresses');

step('create ingress', "create ingress shop --class=outer --rule='shop.example/cart*=web:80' --rule='shop.example/pay=pay:http,tls=shop-tls'");
step('get ingress', 'get ingress shop');
step('get ingress wide', 'get ing shop -o wide');
step('get ingress yaml', 'get ingress shop -o yaml');
step('describe ingress', 'describe ingress shop');
step('create ingress of all', 'create ingress every --class=outer --default-backend=web:80 --annotation=a=b');
step('get ingress of all', 'get ingress every');
step('describe ingress of all', 'describe ingress every');
step('ingress status', `patch ingress shop --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.7"},{"hostname":"lb.example"}]}}}'`);
step('get ingress address', 'get ingress shop');
step('ingress generation', `patch ingress every --type=merge -p '{"spec":{"rules":[{"host":"*.example.com"}]}}' -o jsonpath='{.metadata.generation} {.spec.rules}'`);
step('ingress patch rules', `patch ingress every -p '{"spec":{"rules":[{"host":"b.example"}]}}' -o jsonpath='{.spec.rules}'`);
step('create ingress twice', "create ingress shop --rule='a.example/=web:80'");

const ingress = (spec: string, more = ''): string => `apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: more${more}}\nspec: {ingressClassName: outer, ${spec}}\n`;
const rule = (path: string): string => `rules: [{http: {paths: [{${path}}]}}]`;
const backend = 'backend: {service: {name: web, port: {number: 80}}}';
bad('ingress of nothing', ingress(''));
bad('ingress without path type', ingress(rule(`path: /, ${backend}`)));
bad('ingress path type', ingress(rule(`path: /, pathType: Regex, ${backend}`)));
bad('ingress path', ingress(rule(`path: "a//b/..", pathType: Prefix, ${backend}`)));
bad('ingress without backend', ingress(rule('path: /, pathType: Prefix, backend: {}')));
bad('ingress without port', ingress(rule('path: /, pathType: Exact, backend: {service: {name: web}}')));
bad('ingress two ports', ingress(rule('path: /, pathType: Exact, backend: {service: {name: web, port: {name: http, number: 80}}}')));
bad('ingress bad ports', ingress('defaultBackend: {service: {name: "1st", port: {number: 70000}}}'));
bad('ingress two backends', ingress('defaultBackend: {resource: {kind: A, name: b}, service: {name: web, port: {number: 80}}}'));
bad('ingress hosts', ingress('rules: [{host: 10.0.0.1}, {host: "a.*.example"}, {host: A_b}], tls: [{hosts: ["*"], secretName: "A"}]'));
bad('ingress without paths', ingress('rules: [{http: {paths: []}}]'));
bad('ingress class', ingress('defaultBackend: {service: {name: web, port: {number: 80}}}').replace('outer', '"a b"'));
bad('ingress two classes', ingress('defaultBackend: {service: {name: web, port: {number: 80}}}', ', annotations: {kubernetes.io/ingress.class: inner}'));
bad('ingress resource', ingress('defaultBackend: {resource: {kind: "", name: "a/b", apiGroup: "A"}}'));

const ofClass = (spec: string): string => `apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: outer}\nspec: {${spec}}\n`;
step('create ingressclass', 'create -f c.yaml', { 'c.yaml': ofClass('controller: example.com/outer, parameters: {apiGroup: example.com, kind: Settings, name: outer}') });
step('get ingressclass', 'get ingressclass outer');
step('get ingressclass yaml', 'get ingressclass outer -o yaml');
step('describe ingressclass', 'describe ingressclass outer');
step('change ingressclass', `patch ingressclass outer --type=merge -p '{"spec":{"controller":"example.com/other"}}'`);
bad('ingressclass', ofClass('controller: nobody').replace('outer', 'more'));
bad('ingressclass parameters', ofClass('controller: example.com/a, parameters: {kind: "", name: b, scope: Namespace}').replace('outer', 'more'));
bad('ingressclass of nobody', ofClass('').replace('outer', 'more'));
step('delete ingresses', 'delete ingress shop every');
step('delete ingressclass', 'delete ingressclass outer');

explain('ingress');
explain('ingressclass');

export const ingresses = steps;
