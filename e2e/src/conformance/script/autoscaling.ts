import { chapter } from './step.ts';

const c = chapter('autoscaling');
const { step, bad, until, told } = c;

const hpa = (name: string, spec: string, version = 'v2'): string => `apiVersion: autoscaling/${version}\nkind: HorizontalPodAutoscaler\nmetadata: {name: ${name}}\nspec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: absent}\n${spec}`;
const all = `  minReplicas: 2
  maxReplicas: 7
  metrics:
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  - {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 0.5Gi}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: main, target: {type: Utilization, averageUtilization: 60}}}
  - {type: Pods, pods: {metric: {name: hits, selector: {matchLabels: {a: b}}}, target: {type: AverageValue, averageValue: 1500m}}}
  - {type: Object, object: {describedObject: {apiVersion: networking.k8s.io/v1, kind: Ingress, name: main}, metric: {name: rate}, target: {type: Value, value: 2k}}}
  - {type: External, external: {metric: {name: queue}, target: {type: AverageValue, averageValue: "30"}}}
  behavior:
    scaleUp: {stabilizationWindowSeconds: 30, selectPolicy: Disabled}
    scaleDown: {policies: [{type: Pods, value: 2, periodSeconds: 60}]}
`;
const plain = (name: string, version?: string): string => hpa(name, '  maxReplicas: 3\n', version);
const metrics = (list: string): string => hpa('wrong', `  maxReplicas: 3\n  metrics:\n${list}`);

step('create scaled deployment', 'create deployment big --image=x --replicas=3');
step('autoscale', 'autoscale deployment big --min=1 --max=2 --cpu-percent=60');
step('autoscale again', 'autoscale deployment big --max=2');
step('autoscale min over max', 'autoscale deployment big --min=3 --max=2 --name=other');
step('autoscale dry', 'autoscale deployment big --max=5 --name=other --dry-run=server -o jsonpath={.apiVersion},{.spec}');
until('get deployment big -o jsonpath={.spec.replicas}', /^2$/);
told('big', 'SuccessfulRescale');
step('autoscaler scaled', 'get events --field-selector involvedObject.name=big,reason=SuccessfulRescale -o custom-columns=TYPE:.type,MESSAGE:.message,BY:.source.component,KIND:.involvedObject.kind');
step('autoscaler spec', 'get hpa big -o jsonpath={.spec}');
step('delete autoscaler', 'delete hpa big');

step('create full autoscaler', 'create -f hpa.yaml', { 'hpa.yaml': hpa('full', all) });
step('create plain autoscaler', 'create -f hpa.yaml', { 'hpa.yaml': plain('plain-scaler') });
step('create old autoscaler', 'create -f hpa.yaml', { 'hpa.yaml': plain('old', 'v1') });
for (const name of ['full', 'plain-scaler', 'old']) until(`get hpa ${name} -o jsonpath={.status.conditions[*].reason}`, /^FailedGetScale$/);
told('full', 'FailedGetScale');
step('autoscalers', 'get hpa');
step('autoscalers in v1', 'get horizontalpodautoscalers.v1.autoscaling');
step('full autoscaler yaml', 'get hpa full -o yaml');
step('full autoscaler in v1', 'get horizontalpodautoscalers.v1.autoscaling full -o yaml');
step('plain autoscaler yaml', 'get hpa plain-scaler -o yaml');
step('old autoscaler yaml', 'get horizontalpodautoscalers.v1.autoscaling old -o yaml');
step('describe autoscaler', 'describe hpa full');
step('patch autoscaler', `patch hpa plain-scaler --type=merge -p '{"spec":{"behavior":{}}}'`);
step('patched autoscaler', 'get hpa plain-scaler -o jsonpath={.spec}');
step('patch autoscaler in v1', `patch horizontalpodautoscalers.v1.autoscaling full --type=merge -p '{"spec":{"targetCPUUtilizationPercentage":70}}'`);
step('autoscaler patched in v1', 'get hpa full -o jsonpath={.spec}');
step('autoscaler without metrics', `patch hpa full --type=json -p '[{"op":"remove","path":"/spec/metrics"}]' -o jsonpath={.spec.metrics}`);
step('apply autoscaler on the server', 'apply --server-side --field-manager=one -f hpa.yaml', { 'hpa.yaml': plain('applied-scaler') });
step('apply autoscaler with a conflict', 'apply --server-side --field-manager=two -f hpa.yaml', { 'hpa.yaml': hpa('applied-scaler', '  maxReplicas: 4\n') });
step('explain autoscaler version', 'explain hpa.spec.maxReplicas');
c.explain('hpa');

bad('autoscaler of nothing', 'apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: wrong}\nspec: {}\n');
bad('autoscaler bounds', hpa('wrong', '  minReplicas: 5\n  maxReplicas: 3\n'));
bad('autoscaler to zero', hpa('wrong', '  minReplicas: 0\n  maxReplicas: 3\n'));
bad('autoscaler metric type', metrics('  - {type: Moon}\n'));
bad('autoscaler without source', metrics('  - {type: Resource}\n'));
bad('autoscaler other source', metrics('  - {type: Resource, pods: {metric: {name: x}, target: {type: AverageValue, averageValue: "1"}}}\n'));
bad('autoscaler empty source', metrics('  - {type: Resource, resource: {}}\n'));
bad('autoscaler two targets', metrics('  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 0, averageValue: "-1"}}}\n'));
bad('autoscaler container', metrics('  - {type: ContainerResource, containerResource: {name: gpu, container: A_b, target: {type: Value, value: "1"}}}\n'));
bad('autoscaler identifier', metrics('  - {type: Pods, pods: {metric: {name: a/b}, target: {type: Half}}}\n'));
bad('autoscaler external', metrics('  - {type: External, external: {metric: {}, target: {type: Value, value: "1", averageValue: "1"}}}\n'));
bad('autoscaler behavior', hpa('wrong', '  maxReplicas: 3\n  behavior: {scaleUp: {policies: [], stabilizationWindowSeconds: 3601, selectPolicy: Some}, scaleDown: {policies: [{type: Nodes, value: 0, periodSeconds: 1801}]}}\n'));
bad('autoscaler target', 'apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: wrong}\nspec: {maxReplicas: 1, scaleTargetRef: {kind: "..", name: a/b}}\n');
bad('autoscaler unknown field', hpa('wrong', '  maxReplicas: 3\n  targetCPUUtilizationPercentage: 5\n'));
bad('autoscaler quantity', metrics('  - {type: Resource, resource: {name: cpu, target: {type: AverageValue, averageValue: much}}}\n'));
bad('old autoscaler percentage', hpa('wrong', '  maxReplicas: 3\n  targetCPUUtilizationPercentage: 0\n', 'v1'));
step('delete autoscalers', 'delete hpa --all');
step('delete scaled deployment', 'delete deployment big');

export const autoscaling = c.steps;
