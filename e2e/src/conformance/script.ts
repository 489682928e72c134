/** One kubectl command whose outcome is compared. */
export interface Step {
  /** Unique; differences name it. */
  readonly name: string;
  readonly args: readonly string[];
  /** Files it reads, by name: `-f pod.yaml`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Not compared, but repeated until its output matches: what controllers do takes its time. */
  readonly until?: RegExp;
}

const steps: Step[] = [];
const step = (name: string, command: string, files?: Record<string, string>): void => void steps.push({ name, args: wordsOf(command), ...(files === undefined ? {} : { files }) });
const until = (command: string, pattern: RegExp): void => void steps.push({ name: `wait ${steps.length}: ${command}`, args: wordsOf(command), until: pattern });
/** Words, with '...' around those that hold blanks. */
const wordsOf = (command: string): string[] => [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
/** The same file for creating and, changed, for what should be refused. */
const bad = (name: string, manifest: string, command = 'create -f bad.yaml'): void => step(`bad: ${name}`, command, { 'bad.yaml': manifest });

const pod = (change = '', spec = '', container = ''): string => `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web, tier: front}
${change}spec:
${spec}  containers:
  - name: main
    image: nginx:1.27
${container}`;

const template = (app: string, extra = ''): string => `  template:
    metadata:
      labels: {app: ${app}}
    spec:
${extra}      containers:
      - name: main
        image: nginx:1.27
        ports: [{containerPort: 80, name: http}]
`;
const deployment = (name: string, replicas = 2, extra = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
${extra}${template(name)}`;

// Namespaces, and the way of a pod.
step('create namespace', 'create namespace conf');
step('get namespace', 'get namespace conf');
step('create namespace again', 'create namespace conf');
step('create pod', 'create -f pod.yaml', { 'pod.yaml': pod() });
step('create pod again', 'create -f pod.yaml', { 'pod.yaml': pod() });
until('get pod web', /Pending/);
until('get pod web -o yaml', /PodScheduled/);
step('get pod', 'get pod web');
step('get pod wide', 'get pod web -o wide');
step('get pod yaml', 'get pod web -o yaml');
step('get pod name', 'get pod web -o name');
step('get pod jsonpath', "get pod web -o jsonpath='{.spec.containers[*].image} {.status.phase} {.status.qosClass}'");
step('get pod custom-columns', 'get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase,POLICY:.spec.restartPolicy');
step('get pods by label', 'get pods -l app=web,tier!=back --show-labels');
step('get pods by set', "get pods -l 'app in (web, api)' -L tier");
step('get pods none', 'get pods -l app=none');
step('get pods by field', 'get pods --field-selector status.phase=Pending,spec.nodeName=');
step('get pods by unknown field', 'get pods --field-selector spec.hostname=x');
step('get pods all namespaces', 'get pods -A');
step('get pod absent', 'get pod absent');
step('get unknown kind', 'get unicorns');
step('describe pod', 'describe pod web');
step('label', 'label pod web stage=test');
step('label again', 'label pod web stage=prod');
step('label overwrite', 'label pod web stage=prod --overwrite');
step('label remove', 'label pod web stage-');
step('label bad', "label pod web 'stage=a b'");
step('annotate', "annotate pod web note='some text'");
step('patch merge', `patch pod web --type=merge -p '{"metadata":{"labels":{"merged":"yes"}}}'`);
step('patch json', `patch pod web --type=json -p '[{"op":"replace","path":"/metadata/labels/merged","value":"no"}]'`);
step('patch json bad path', `patch pod web --type=json -p '[{"op":"remove","path":"/metadata/labels/absent"}]'`);
step('patch strategic image', `patch pod web -p '{"spec":{"containers":[{"name":"main","image":"nginx:1.28"}]}}'`);
step('patch immutable', `patch pod web -p '{"spec":{"restartPolicy":"Never"}}'`);
step('get image', "get pod web -o jsonpath='{.spec.containers[0].image}'");
step('dry-run server', 'run dry --image=busybox --dry-run=server -o name');
step('dry-run client', 'run dry --image=busybox --dry-run=client -o yaml');
step('run', 'run second --image=busybox --restart=Never --labels=app=second --env=A=b -- sleep 1000');
step('run result', "get pod second -o jsonpath='{.spec.containers[0]}'");
step('wait timeout', 'wait --for=condition=Ready pod/web --timeout=1s');
step('wait jsonpath', `wait --for=jsonpath='{.status.phase}'=Pending pod/web --timeout=5s`);
step('logs of a pending pod', 'logs web');
step('exec in a pending pod', 'exec web -- true');
step('delete dry-run', 'delete pod second --dry-run=server');
step('delete pod', 'delete pod second');
step('delete absent', 'delete pod second');
step('delete ignore', 'delete pod second --ignore-not-found');

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
step('create configmap', 'create configmap made --from-literal=a=1 --from-literal=b=2');
step('get configmaps', 'get configmaps made settings owned');
step('describe configmap', 'describe configmap made');
step('create secret', 'create secret generic hidden --from-literal=password=x');
step('get secret', 'get secret hidden');
step('describe secret', 'describe secret hidden');
step('create serviceaccount', 'create serviceaccount builder');
step('get serviceaccount', 'get serviceaccount builder');
step('replace', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('blue', 'white') });
step('replace absent', 'replace -f cm.yaml', { 'cm.yaml': applied.replace('settings', 'nowhere') });

// Deployments.
step('create deployment', 'create deployment gen --image=nginx:1.27 --replicas=2 --port=80');
until('get pods -l app=gen --no-headers', /Pending[\s\S]*Pending/);
until('get deployment gen -o yaml', /observedGeneration: 1[\s\S]*unavailableReplicas: 2/);
step('get deployment', 'get deployment gen');
step('get deployment wide', 'get deployment gen -o wide');
step('get deployment yaml', 'get deployment gen -o yaml');
step('get replicasets wide', 'get rs -l app=gen -o wide');
step('get replicaset yaml', 'get rs -l app=gen -o yaml');
step('get pods of deployment', 'get pods -l app=gen');
step('get pod of deployment yaml', 'get pods -l app=gen -o jsonpath=\'{.items[0].metadata.ownerReferences}{.items[0].metadata.labels}\'');
step('describe deployment', 'describe deployment gen');
step('rollout status', 'rollout status deployment gen --timeout=1s');
step('set image', 'set image deployment/gen nginx=nginx:1.28');
until('get rs -l app=gen --no-headers', /\n\S/);
step('rollout history', 'rollout history deployment gen');
step('rollout history revision', 'rollout history deployment gen --revision=2');
step('rollout undo', 'rollout undo deployment gen');
until("get deployment gen -o jsonpath='{.metadata.annotations}'", /"deployment.kubernetes.io\/revision":"3"/);
step('rollout history after undo', 'rollout history deployment gen');
step('rollout pause', 'rollout pause deployment gen');
step('rollout pause again', 'rollout pause deployment gen');
step('rollout undo paused', 'rollout undo deployment gen');
step('rollout resume', 'rollout resume deployment gen');
step('rollout restart', 'rollout restart deployment gen');
step('set env', 'set env deployment/gen COLOR=blue');
step('set resources', 'set resources deployment/gen --limits=cpu=200m,memory=64Mi');
step('scale', 'scale deployment gen --replicas=3');
step('scale with wrong current', 'scale deployment gen --current-replicas=9 --replicas=1');
step('scale negative', 'scale deployment gen --replicas=-1');
step('patch selector', `patch deployment gen -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'`);
step('create deployment by file', 'create -f d.yaml', { 'd.yaml': deployment('filed', 1) });
until('get pods -l app=filed --no-headers', /Pending/);
step('delete deployment orphan', 'delete deployment filed --cascade=orphan');
until("get rs -l app=filed -o jsonpath='{.items[*].metadata.ownerReferences}'", /^$/);
step('orphans stay', "get rs -l app=filed -o jsonpath='{.items[*].spec.replicas}'");
step('delete replicaset foreground', 'delete rs -l app=filed --cascade=foreground');
step('delete deployment', 'delete deployment gen');
until('get pods -l app=gen --no-headers --ignore-not-found', /^(No resources found.*)?$/);
step('get replicasets after', 'get rs -l app=gen');

// The other workloads.
const workload = (kind: string, name: string, extra = ''): string => `apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}}
spec:
${extra}  selector: {matchLabels: {app: ${name}}}
${template(name)}`;
step('create statefulset', 'create -f s.yaml', { 's.yaml': workload('StatefulSet', 'ordered', '  serviceName: ordered\n  replicas: 2\n') });
until('get pods -l app=ordered --no-headers', /ordered-0\s+0\/1\s+Pending/);
step('get statefulset wide', 'get statefulset ordered -o wide');
until('get statefulset ordered -o yaml', /currentRevision/);
step('get statefulset yaml', 'get statefulset ordered -o yaml');
step('statefulset pods', "get pods -l app=ordered -o jsonpath='{.items[*].metadata.name} {.items[*].spec.hostname} {.items[*].spec.subdomain} {.items[0].metadata.labels}'");
step('describe statefulset', 'describe statefulset ordered');
step('rollout history statefulset', 'rollout history statefulset ordered');
step('delete statefulset', 'delete statefulset ordered');
step('create daemonset', 'create -f ds.yaml', { 'ds.yaml': workload('DaemonSet', 'everywhere') });
until('get daemonset everywhere -o yaml', /observedGeneration: 1/);
step('get daemonset wide', 'get daemonset everywhere -o wide');
step('get daemonset yaml', 'get daemonset everywhere -o yaml');
step('describe daemonset', 'describe daemonset everywhere');
step('rollout history daemonset', 'rollout history daemonset everywhere');
step('delete daemonset', 'delete daemonset everywhere');
step('create job', 'create job once --image=busybox -- sh -c true');
until('get pods -l job-name=once --no-headers', /Pending/);
until('get job once -o yaml', /active: 1/);
step('get job', 'get job once');
step('get job wide', 'get job once -o wide');
step('get job yaml', 'get job once -o yaml');
step('describe job', 'describe job once');
step('patch job template', `patch job once -p '{"spec":{"template":{"spec":{"containers":[{"name":"once","image":"other"}]}}}}'`);
step('delete job', 'delete job once');
step('create cronjob', "create cronjob nightly --image=busybox --schedule='0 3 * * *' -- date");
step('get cronjob', 'get cronjob nightly');
step('get cronjob wide', 'get cronjob nightly -o wide');
step('get cronjob yaml', 'get cronjob nightly -o yaml');
step('create job from cronjob', 'create job now --from=cronjob/nightly');
step('get job from cronjob', "get job now -o jsonpath='{.metadata.annotations}{.spec.template.spec.restartPolicy}'");
step('describe cronjob', 'describe cronjob nightly');
step('delete cronjob', 'delete cronjob nightly');
step('create pdb', 'create pdb guard --selector=app=web --min-available=1');
step('get pdb', 'get pdb guard');
step('describe pdb', 'describe pdb guard');
step('create priorityclass', "create priorityclass urgent --value=1000 --description='for the test'");
step('get priorityclass', 'get priorityclass urgent');
step('pod of a priority class', "apply -f p.yaml -o jsonpath='{.spec.priority} {.spec.preemptionPolicy}'", { 'p.yaml': pod('', '  priorityClassName: urgent\n').replace('name: web', 'name: urgent') });
step('get built-in priority classes', 'get priorityclasses system-node-critical system-cluster-critical');
step('delete priorityclass', 'delete priorityclass urgent');

// What is wrong is told in the same words.
bad('unparsable', 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n bad indent: [\n');
bad('unknown kind', 'apiVersion: v1\nkind: Pood\nmetadata: {name: a}\n');
bad('unknown version', 'apiVersion: apps/v9\nkind: Deployment\nmetadata: {name: a}\n');
bad('unknown field', pod('', '  bogus: 1\n', '    imagge: x\n'));
bad('unknown field warned', pod('', '  bogus: 1\n').replace('name: web', 'name: warned'), 'create --validate=warn -f bad.yaml');
bad('wrong type', pod('', '  terminationGracePeriodSeconds: soon\n'));
bad('no containers', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n');
bad('no image', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n');
bad('no name', 'apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: c, image: i}]}\n');
bad('bad name', pod().replace('name: web', 'name: Web_1'));
bad('long name', pod().replace('name: web', `name: ${'a'.repeat(254)}`));
bad('bad label', pod().replace('app: web', 'app: "a b"'));
bad('same container twice', pod('', '', '  - name: main\n    image: b\n'));
bad('bad port', pod('', '', '    ports: [{containerPort: 70000}]\n'));
bad('bad pull policy', pod('', '', '    imagePullPolicy: Sometimes\n'));
bad('bad restart policy', pod('', '  restartPolicy: Maybe\n'));
bad('bad quantity', pod('', '', '    resources: {limits: {cpu: lots}}\n'));
bad('request over limit', pod('', '', '    resources: {limits: {cpu: 100m}, requests: {cpu: 200m}}\n'));
bad('mount without volume', pod('', '', '    volumeMounts: [{name: data, mountPath: /data}]\n'));
bad('two probes in one', pod('', '', '    livenessProbe: {exec: {command: [a]}, tcpSocket: {port: 80}}\n'));
bad('no probe handler', pod('', '', '    livenessProbe: {periodSeconds: 5}\n'));
bad('bad toleration', pod('', '  tolerations: [{key: a, operator: Exists, value: b}]\n'));
bad('missing priority class', pod('', '  priorityClassName: none\n'));
bad('missing namespace', pod(), 'create -n nowhere -f bad.yaml');
bad('negative replicas', deployment('a', -1));
bad('selector does not match', deployment('a').replace('matchLabels: {app: a}', 'matchLabels: {app: b}'));
bad('empty selector', deployment('a').replace('selector: {matchLabels: {app: a}}', 'selector: {}'));
bad('restart policy of a deployment', deployment('a').replace('      containers:', '      restartPolicy: Never\n      containers:'));
bad('no surge and none unavailable', deployment('a', 1, '  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}\n'));
bad('bad schedule', 'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: "every day", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}\n');
bad('bad time zone', 'apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: "0 3 * * *", timeZone: Mars/Base, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}\n');
bad('restart policy of a job', 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Always, containers: [{name: c, image: i}]}}}\n');
bad('pdb with both', 'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 1, maxUnavailable: 1, selector: {matchLabels: {a: b}}}\n');
bad('bad configmap key', 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {"a/b": x}\n');

// Who and what.
step('can-i', 'auth can-i create pods');
step('explain container', 'explain pod.spec.containers.livenessProbe.httpGet.port');
step('explain unknown', 'explain pod.spec.nothing');
step('events of a pod', "get events --field-selector involvedObject.name=web,reason=FailedScheduling -o jsonpath='{.items[0].message}{.items[0].type}{.items[0].involvedObject.kind}'");
step('delete namespace', 'delete namespace conf');

export const script: readonly Step[] = steps;
