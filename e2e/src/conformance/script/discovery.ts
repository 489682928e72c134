import { chapter } from './step.ts';

const { steps, step, explain, told } = chapter('discovery');

// Who and what.
step('can-i', 'auth can-i create pods');
step('explain container', 'explain pod.spec.containers.livenessProbe.httpGet.port');
step('explain unknown', 'explain pod.spec.nothing');
step('events of a pod', "get events --field-selector involvedObject.name=web,reason=FailedScheduling -o jsonpath='{.items[0].message}{.items[0].type}{.items[0].involvedObject.kind}'");

step('explain field of a list', 'explain pod.spec.containers.ports.containerPort');
step('explain of another version', 'explain deployment --api-version=apps/v9');
step('explain unknown kind', 'explain unicorns');
for (const kind of ['pod', 'deployment', 'statefulset', 'cronjob', 'node', 'lease', 'poddisruptionbudget', 'priorityclass', 'event']) explain(kind);
for (const group of ['apps', 'batch', 'policy', 'coordination.k8s.io', 'scheduling.k8s.io']) step(`api-resources ${group}`, `api-resources --api-group=${group} -o wide --no-headers`);
step('api-resources names', 'api-resources --api-group=apps -o name --namespaced=true');
step('version', 'version');
step('whoami', 'auth whoami');
step('can-i subresource', 'auth can-i get pods --subresource=log');
step('can-i verb of an unknown', 'auth can-i fly unicorns');
step('can-i all', "auth can-i '*' '*' -A");
told('filed', 'ScalingReplicaSet');
step('events of', 'events --for deployment/filed');
for (const reason of ['SuccessfulDelete', 'Suspended']) told('once', reason);
step('events wide', 'get events --field-selector involvedObject.name=once -o wide --sort-by=.reason');
step('events by reason', 'get events --field-selector reason=Nothing');
step('top pods', 'top pods');
step('top pod', 'top pod absent');
step('top nodes', 'top nodes');
export const discovery = steps;
