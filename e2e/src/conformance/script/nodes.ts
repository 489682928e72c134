import { pod } from './manifests.ts';
import { chapter } from './step.ts';

const { steps, step, edit, until } = chapter('nodes');

// What the other chapters left would be scheduled to the node.
until('delete pods --all --now --ignore-not-found', /No resources found/);

// A node that nobody serves: what kubectl does to it is written all the same.
const node = `apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {zone: a}
spec:
  podCIDR: 10.9.0.0/24
`;
const status = {
  capacity: { cpu: '4', memory: '8Gi', pods: '110' },
  allocatable: { cpu: '3800m', memory: '7Gi', pods: '110' },
  conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status', lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' }],
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }, { type: 'Hostname', address: 'n1' }],
  nodeInfo: { kubeletVersion: 'v1.32.2', osImage: 'Debian', kernelVersion: '6.1', containerRuntimeVersion: 'docker://20.10', architecture: 'amd64', operatingSystem: 'linux', bootID: 'b', machineID: 'm', systemUUID: 's', kubeProxyVersion: '' },
};
step('create node', 'create -f node.yaml', { 'node.yaml': node });
step('create node again', 'create -f node.yaml', { 'node.yaml': node });
step('get fresh node', 'get node n1 -o wide');
step('patch node status', `patch node n1 --subresource=status --type=merge -p '${JSON.stringify({ status })}'`);
until("get node n1 -o jsonpath='{.spec.taints}'", /^$/);
step('get node', 'get node n1');
step('get node wide', 'get nodes -o wide');
step('get node yaml', 'get node n1 -o yaml');
step('label node', 'label node n1 node-role.kubernetes.io/worker= disk=ssd');
step('get node roles', 'get nodes -L disk');
step('taint', 'taint node n1 dedicated=db:NoSchedule');
step('taint again', 'taint node n1 dedicated=db:NoSchedule');
step('taint overwrite', 'taint node n1 dedicated=web:NoSchedule --overwrite');
step('taint bad effect', 'taint node n1 a=b:Never');
step('taint bad key', "taint node n1 'a b=c:NoSchedule'");
step('taint result', "get node n1 -o jsonpath='{.spec.taints}'");
step('untaint', 'taint node n1 dedicated-');
step('untaint again', 'taint node n1 dedicated-');
step('cordon', 'cordon n1');
step('cordon again', 'cordon n1');
step('get cordoned', 'get node n1');
until("get node n1 -o jsonpath='{.spec.taints[*].key}'", /unschedulable/);
step('uncordon', 'uncordon n1');
step('uncordon again', 'uncordon n1');
step('cordon absent', 'cordon absent');
edit('edit node', 'edit node n1', 'sed -i s/zone:.a/zone:\\ b/');
step('get node by label', 'get nodes -l zone=b -o name');
step('get node by field', 'get nodes --field-selector spec.unschedulable=false -o name');
step('node immutable', `patch node n1 --type=merge -p '{"spec":{"podCIDR":"10.8.0.0/24"}}'`);
step('node status invalid', `patch node n1 --subresource=status --type=merge -p '{"status":{"capacity":{"cpu":"-1"}}}'`);

// Pods that are on it, as an agent would report them.
const bound = (name: string, more = '', labels = ''): string => pod('', `  nodeName: n1\n  terminationGracePeriodSeconds: 0\n${more}`, '    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 200m}}\n').replace('name: web', `name: ${name}`).replace('app: web', `app: ${name}${labels}`);
const running = (name: string): void =>
  step(`${name} runs`, `patch pod ${name} --subresource=status --type=merge -p '${JSON.stringify({ status: { phase: 'Running', podIP: '10.9.0.5', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }], containerStatuses: [{ name: 'main', ready: true, restartCount: 2, image: 'nginx:1.27', imageID: 'x', state: { running: { startedAt: '2026-01-01T00:00:00Z' } }, lastState: { terminated: { exitCode: 137, reason: 'OOMKilled', finishedAt: '2026-01-01T00:00:00Z' } } }] } })}'`);
step('create a bound pod', 'create -f bound.yaml', { 'bound.yaml': bound('bound') });
running('bound');
step('get bound pod', 'get pod bound -o wide');
step('describe bound pod', 'describe pod bound');
step('create a guarded pod', 'create -f guarded.yaml', { 'guarded.yaml': bound('guarded') });
running('guarded');
step('create budget', 'create pdb keep --selector=app=guarded --min-available=1');
until("get pdb keep -o jsonpath='{.status.currentHealthy} {.status.observedGeneration}'", /^1 1/);
step('get budget', 'get pdb keep');
step('budget yaml', 'get pdb keep -o yaml');
step('describe node', 'describe node n1');
step('drain needs force', 'drain n1');
// Within the time after which it tries again what was refused.
step('drain', 'drain n1 --force --timeout=4900ms');
step('evicted', 'get pods -l app=bound');
step('guarded stays', 'get pods -l app=guarded');
step('evict by hand', 'create --raw /api/v1/namespaces/conf/pods/guarded/eviction -f evict.json', { 'evict.json': '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"guarded"}}' });
step('evict an absent', 'create --raw /api/v1/namespaces/conf/pods/absent/eviction -f evict.json', { 'evict.json': '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"absent"}}' });
step('bind the bound', 'create --raw /api/v1/namespaces/conf/pods/guarded/binding -f bind.json', { 'bind.json': '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"guarded"},"target":{"kind":"Node","name":"n2"}}' });
step('loosen the budget', `patch pdb keep --type=merge -p '{"spec":{"minAvailable":0}}'`);
until("get pdb keep -o jsonpath='{.status.disruptionsAllowed}'", /^1/);
step('drain the rest', 'drain n1 --force --timeout=60s');
step('nothing is left', 'get pods --field-selector spec.nodeName=n1');
step('delete budget', 'delete pdb keep');
step('delete node', 'delete node n1');
step('drain absent', 'drain n1');

export const nodes = steps;
