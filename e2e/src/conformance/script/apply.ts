import { chapter } from './step.ts';

const { steps, step } = chapter('apply');

// Client-side and server-side apply.
const applied = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: blue, size: "1"}
`;
step('apply new', 'apply -f cm.yaml', { 'cm.yaml': applied });
step('apply same', 'apply -f cm.yaml', { 'cm.yaml': applied });
step('diff', 'diff -f cm.yaml', { 'cm.yaml': applied.replace('blue', 'red') });
step('apply changed', 'apply -f cm.yaml', { 'cm.yaml': applied.replace('blue', 'red').replace(', size: "1"', '') });
step('apply result', 'get configmap settings -o yaml');
step('server-side apply', 'apply --server-side -f ssa.yaml', { 'ssa.yaml': applied.replace('settings', 'owned') });
step('server-side apply conflict', 'apply --server-side --field-manager=other -f ssa.yaml', { 'ssa.yaml': applied.replace('settings', 'owned').replace('blue', 'green') });
step('server-side apply forced', 'apply --server-side --field-manager=other --force-conflicts -f ssa.yaml', { 'ssa.yaml': applied.replace('settings', 'owned').replace('blue', 'green') });
step('managed fields', "get configmap owned --show-managed-fields -o jsonpath='{range .metadata.managedFields[*]}{.manager} {.operation} {.fieldsV1}{\"\\n\"}{end}'");
const owned = (image: string, more = '', replicas = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: applied}
spec:
${replicas}  selector: {matchLabels: {app: applied}}
  template:
    metadata: {labels: {app: applied}}
    spec:
      containers:
      - name: main
        image: ${image}
        ports: [{containerPort: 80, name: http}]
        env: [{name: COLOR, value: blue}, {name: SIZE, value: "1"}]
${more}`;
const sidecar = '      - {name: side, image: busybox}\n';
step('server-side apply deployment', 'apply --server-side --field-manager=one -f d.yaml', { 'd.yaml': owned('nginx:1.27', '', '  replicas: 0\n') });
step('server-side apply image conflict', 'apply --server-side --field-manager=two -f d.yaml', { 'd.yaml': owned('nginx:1.28', '', '  replicas: 1\n') });
step('server-side apply what another may add', 'apply --server-side --field-manager=two -f d.yaml', {
  'd.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\nspec: {template: {spec: {containers: [{name: main, env: [{name: MORE, value: x}], ports: [{containerPort: 81}, {containerPort: 81, protocol: UDP}], volumeMounts: [{name: v, mountPath: /v}]}], volumes: [{name: v, emptyDir: {}}], tolerations: [{key: a, operator: Exists}], nodeSelector: {a: b}}}}\n',
});
step('server-side apply owners', "get deployment applied --show-managed-fields -o jsonpath='{range .metadata.managedFields[?(@.operation==\"Apply\")]}{.manager} {.apiVersion} {.fieldsV1}{\"\\n\"}{end}'");
step('server-side apply env conflict', 'apply --server-side --field-manager=three -f d.yaml', { 'd.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\nspec: {template: {spec: {containers: [{name: main, env: [{name: COLOR, value: red}, {name: MORE, value: other}]}]}}}\n' });
step('server-side apply same value', 'apply --server-side --field-manager=three -f d.yaml', { 'd.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\nspec: {template: {spec: {containers: [{name: main, image: "nginx:1.27"}]}}}\n' });
step('server-side apply without', 'apply --server-side --field-manager=one -f d.yaml', { 'd.yaml': owned('nginx:1.27').replace(', {name: SIZE, value: "1"}', '') });
step('server-side apply result', "get deployment applied -o jsonpath='{.spec.replicas} {.spec.template.spec.containers}'");
step('server-side apply invalid', 'apply --server-side --force-conflicts -f d.yaml', { 'd.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\nspec: {template: {spec: {containers: [{name: main, image: ""}, {name: Bad_, image: x}]}}}\n' });
step('server-side apply unknown field', 'apply --server-side -f d.yaml', { 'd.yaml': 'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: applied}\nspec: {bogus: 1}\n' });
step('server-side apply duplicate', 'apply --server-side -f d.yaml', { 'd.yaml': 'apiVersion: v1\nkind: Pod\nmetadata: {name: twins}\nspec: {containers: [{name: a, image: b}, {name: a, image: c}]}\n' });
step('server-side apply dry-run', 'apply --server-side --dry-run=server -f d.yaml', { 'd.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dry}\ndata: {a: b}\n' });
step('apply over server-side', 'apply -f d.yaml', { 'd.yaml': owned('nginx:1.27', sidecar, '  replicas: 0\n') });
step('apply list keys', 'apply -f d.yaml', { 'd.yaml': owned('nginx:1.29', sidecar.replace('busybox', 'busybox, env: [{name: A, value: b}], ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53, protocol: TCP}]'), '  replicas: 0\n').replace('{name: COLOR, value: blue}, ', '') });
step('apply list keys result', "get deployment applied -o jsonpath='{.spec.template.spec}'");
step('apply a list key away', 'apply -f d.yaml', { 'd.yaml': owned('nginx:1.29', '', '  replicas: 0\n') });
step('apply a list key away result', "get deployment applied -o jsonpath='{.spec.template.spec.containers[*].name} {.spec.template.spec.containers[0].env}'");
step('apply strategy', 'apply -f d.yaml', { 'd.yaml': owned('nginx:1.29', '', '  replicas: 0\n  strategy: {type: Recreate}\n') });
step('apply strategy result', "get deployment applied -o jsonpath='{.spec.strategy}'");
step('diff deployment', 'diff -f d.yaml', { 'd.yaml': owned('nginx:1.30', '', '  replicas: 0\n  strategy: {type: Recreate}\n') });
step('apply dry-run server', 'apply --dry-run=server -f d.yaml', { 'd.yaml': owned('nginx:1.30', '', '  replicas: 0\n  strategy: {type: Recreate}\n') });
step('apply dry-run client', 'apply --dry-run=client -f d.yaml', { 'd.yaml': owned('nginx:1.30', '', '  replicas: 0\n  strategy: {type: Recreate}\n') });
step('apply view last', 'apply view-last-applied deployment applied');
step('apply invalid', 'apply -f d.yaml', { 'd.yaml': owned('nginx:1.30', '', '  replicas: -2\n') });
step('apply several', 'apply -f many.yaml', { 'many.yaml': `${applied.replace('settings', 'many-1')}---\n${applied.replace('settings', 'many-2')}---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: many-3}}\n` });
step('delete several', 'delete -f many.yaml', { 'many.yaml': `${applied.replace('settings', 'many-1')}---\n${applied.replace('settings', 'many-2')}---\n${applied.replace('settings', 'many-9')}` });
step('delete applied', 'delete deployment applied');
step('create configmap', 'create configmap made --from-literal=a=1');
step('get configmaps', 'get configmaps made settings owned');
step('describe configmap', 'describe configmap made');
step('create secret', 'create secret generic hidden --from-literal=password=x');
step('get secret', 'get secret hidden');
step('describe secret', 'describe secret hidden');
step('create serviceaccount', 'create serviceaccount builder');
step('get serviceaccount', 'get serviceaccount builder');
step('replace', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('blue', 'white') });
step('replace absent', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('settings', 'nowhere') });

step('replace with version', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('{name: settings}', '{name: settings, resourceVersion: "1"}') });
step('replace with uid', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('{name: settings}', '{name: settings, uid: c2f0c9f0-0000-4000-8000-000000000000}') });
step('immutable configmap', 'create configmap frozen --from-literal=a=1');
step('freeze', `patch configmap frozen --type=merge -p '{"immutable":true}'`);
step('change the frozen', `patch configmap frozen --type=merge -p '{"data":{"a":"2"}}'`);
step('thaw the frozen', `patch configmap frozen --type=merge -p '{"immutable":false}'`);
step('change the type of a secret', `patch secret hidden --type=merge -p '{"type":"other"}'`);
step('create tls secret', 'create secret tls t --cert=absent.pem --key=absent.key');
step('create registry secret', 'create secret docker-registry reg --docker-username=u --docker-password=p --docker-server=s');
step('get registry secret', 'get secret reg');
step('bad secret', 'create -f s.yaml', { 's.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: "not base64!"}\n' });
step('secret of strings', "apply -f s.yaml -o jsonpath='{.data}{.stringData}{.type}'", { 's.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: strings}\nstringData: {a: b}\n' });
step('tls secret without key', 'create -f s.yaml', { 's.yaml': 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: kubernetes.io/tls\n' });
step('describe serviceaccount', 'describe serviceaccount builder');
step('describe namespace', 'describe namespace conf');
step('namespace yaml', 'get namespace conf -o yaml');
step('get wide objects', 'get secret,serviceaccount -o wide');
step('get leases', 'get leases');
step('create lease', 'create -f l.yaml', { 'l.yaml': 'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: held}\nspec: {holderIdentity: me, leaseDurationSeconds: 15}\n' });
step('get lease', 'get lease held -o wide');
step('bad lease', `patch lease held --type=merge -p '{"spec":{"leaseDurationSeconds":-1,"leaseTransitions":-1}}'`);
step('bad lease time', `patch lease held --type=merge -p '{"spec":{"renewTime":"yesterday"}}'`);

export const apply = steps;
