const admission = 'the recording ran without the ServiceAccount admission plugin (it would mount tokens, which the small cluster has none of); with it Kubernetes names the default account as well';
const goSyntax = 'Kubernetes prints the value in the syntax of Go structs; ours is the JSON of it, the words are the same';
const fieldNamed = 'Kubernetes answers with an error of its JSON reader that does not name the field by its path; ours is a cause with the path (issue: field-precise 422 causes)';
const pathNamed = 'ours says which path it was';
const yaml = 'the first line is the same; the difference below it is shown as YAML, not as Go structs';
const valuesSorted = 'the same values, in another order or with the empty one, which both take; or ours names the member that holds the value';
const cut = 'a long value is cut where it is repeated';
const ownWords = 'the same refusal in our own words, with the part that cannot be read';
const statusOnly = 'a write of the status changes nothing else here; Kubernetes lets one of a pod change its labels too';
const explained =
  'members and types are the same but for volumes and settings of clouds and other systems; ours says of more members which values they take, and some that have defaults here are required there';
const noMetricsServer = 'the recording had no metrics server; here the nodes answer for themselves, and there is none yet';
const template = 'the annotation deprecated.daemonset.template.generation served API versions that are gone';
const shapeFirst = 'what the shape of an object lacks is told before what contradicts itself in it';
const generation = 'the changes of an autoscaler are counted here, and its status says which one it is about; in Kubernetes 1.32 both members stay empty';
const emptyLists = 'no endpoints and no ports are empty lists here; Kubernetes shows null, which its clients take for the same';

/**
 * Steps whose outcome differs from that of a real Kubernetes, and why that is right or bearable. The test fails for a step that differs and is not
 * here, and for one that is here and does not differ.
 */
export const differences: Readonly<Record<string, string>> = {
  'get pod yaml': admission,
  'describe pod': admission,
  'describe bound pod': admission,
  'patch json bad path': 'ours says which operation does not fit, and why',
  'patch immutable': yaml,
  'replace immutable': yaml,
  'patch status of the spec': statusOnly,
  'edit result': statusOnly,
  'get bad selector': ownWords,
  'get bad selector value': ownWords,
  'get bad field selector': ownWords,
  'get bad path': pathNamed,
  'get bad group': pathNamed,
  'unknown subresource': pathNamed,
  'scale daemonset': pathNamed,
  'scale job': pathNamed,
  'server-side apply unknown field': 'the same refusal, as a fault of the client (400) and in the words of all other writes',
  'server-side apply duplicate': 'the same refusal, as a fault of the client (400)',
  'replace with uid': 'Kubernetes adds where etcd keeps the object',
  'bad secret': fieldNamed,
  'bad lease time': fieldNamed,
  'describe namespace': 'there are no quotas and limit ranges here',
  'get daemonset yaml': template,
  'describe daemonset': template,
  'patch job template': goSyntax,
  'bad: pdb with both': goSyntax,
  'bad: wrong type': fieldNamed,
  'bad: bad quantity': fieldNamed,
  'bad: number for text': fieldNamed,
  'bad: text for a list': fieldNamed,
  'bad: volume flattened': 'ours shows the right form (issue)',
  'bad: long name': cut,
  'bad: long workload name': cut,
  'bad: deployment without spec': shapeFirst,
  'bad: port twice': 'both take it; Kubernetes warns',
  'bad: fraction of bytes': 'both take it; Kubernetes warns',
  'bad: unknown resource': goSyntax,
  'bad: pod affinity': 'Kubernetes tells twice what is wrong with an empty key',
  'bad: seccomp': goSyntax,
  'bad: service account': 'the account is looked up before its name is judged; the recording ran without that admission plugin',
  'bad: owner': 'ours says which of the owners it is',
  'bad: value of toleration': valuesSorted,
  'bad: value of dnsPolicy': valuesSorted,
  'bad: value of strategy': valuesSorted,
  'bad: value of completionMode': valuesSorted,
  'bad: job modes': valuesSorted,
  'explain container': 'the descriptions are our own',
  'explain field of a list': 'the descriptions are our own',
  ...Object.fromEntries(['deployment', 'pod', 'statefulset', 'cronjob', 'node', 'poddisruptionbudget', 'event', 'service', 'endpointslice', 'ingress', 'hpa'].map((kind) => [`explain ${kind} recursive`, explained])),
  'slice yaml': emptyLists,
  'slice without anything': emptyLists,
  'bad: ingress without path type': 'Kubernetes repeats the name of the field in what it says of it',
  ...Object.fromEntries(['full autoscaler yaml', 'full autoscaler in v1', 'plain autoscaler yaml', 'old autoscaler yaml'].map((name) => [name, generation])),
  'explain autoscaler version': 'the descriptions are our own',
  'bad: autoscaler two targets': goSyntax,
  'bad: autoscaler quantity': fieldNamed,
  version: 'the version says that it is Roundsman',
  whoami: 'the name of the user, who has no UID',
  'top pods': noMetricsServer,
  'top pod': noMetricsServer,
  'top nodes': noMetricsServer,
  'get node yaml': 'Kubernetes notes how long its agents may keep secrets, and a port of the agent; ours have none',
  'describe node': 'Kubernetes notes how long its agents may keep secrets, and tells of a node that was registered by hand',
  'node status invalid': 'the status is written by our own agents and not judged again',
};
