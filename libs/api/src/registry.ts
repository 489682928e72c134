import { resourceKey, type Kind } from './kind.ts';
import { appHttpHealthy } from './kinds/apphttphealthy.ts';
import { configMap } from './kinds/configmap.ts';
import { controllerRevision } from './kinds/controllerrevision.ts';
import { cronJob } from './kinds/cronjob.ts';
import { daemonSet } from './kinds/daemonset.ts';
import { deployment } from './kinds/deployment.ts';
import { dns } from './kinds/dns.ts';
import { endpoints } from './kinds/endpoints.ts';
import { endpointSlice } from './kinds/endpointslice.ts';
import { event } from './kinds/event.ts';
import { horizontalPodAutoscaler } from './kinds/horizontalpodautoscaler.ts';
import { ingress } from './kinds/ingress.ts';
import { ingressClass } from './kinds/ingressclass.ts';
import { job } from './kinds/job.ts';
import { lease } from './kinds/lease.ts';
import { nodeMetrics, podMetrics } from './kinds/metrics.ts';
import { namespace } from './kinds/namespace.ts';
import { netDns } from './kinds/netdns.ts';
import { netReach } from './kinds/netreach.ts';
import { node } from './kinds/node.ts';
import { persistentVolume } from './kinds/persistentvolume.ts';
import { persistentVolumeClaim } from './kinds/persistentvolumeclaim.ts';
import { pod } from './kinds/pod.ts';
import { podDisruptionBudget } from './kinds/poddisruptionbudget.ts';
import { priorityClass } from './kinds/priorityclass.ts';
import { replicaSet } from './kinds/replicaset.ts';
import { report } from './kinds/report.ts';
import { round } from './kinds/round.ts';
import { roundReport } from './kinds/roundreport.ts';
import { runner } from './kinds/runner.ts';
import { runtime } from './kinds/runtime.ts';
import { secret } from './kinds/secret.ts';
import { service } from './kinds/service.ts';
import { serviceAccount } from './kinds/serviceaccount.ts';
import { statefulSet } from './kinds/statefulset.ts';
import { storageClass } from './kinds/storageclass.ts';

/** Every kind of the product. A new kind is its file and one line here. */
export const kinds: readonly Kind[] = [
  netReach, appHttpHealthy, netDns, round, runner, runtime, report, roundReport,
  namespace, node, pod, configMap, secret, serviceAccount, event,
  deployment, replicaSet, statefulSet, daemonSet, controllerRevision,
  service, endpoints, endpointSlice, ingress, ingressClass, dns,
  persistentVolume, persistentVolumeClaim, storageClass,
  job, cronJob, podDisruptionBudget, priorityClass, lease, horizontalPodAutoscaler, nodeMetrics, podMetrics,
];

/** By stored-resource key: `configmaps`, `netreaches.roundsman.io`. */
export const kindByResource: ReadonlyMap<string, Kind> = new Map(kinds.map((kind) => [resourceKey(kind), kind]));

const byGvk = new Map(kinds.map((kind) => [`${kind.group}/${kind.version}/${kind.kind}`, kind]));
/** By group (empty for core), version and kind. */
export const kindByGvk = (group: string, version: string, kind: string): Kind | undefined => byGvk.get(`${group}/${version}/${kind}`);

/** Kinds whose objects are stored; the others are only read. */
export const storedKinds: readonly Kind[] = kinds.filter((kind) => kind.virtual !== true);
