import { isDeepStrictEqual } from 'node:util';
import { ingressController, type Dns, type Ingress, type Service } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, onOwnChange, type Deps, type LoopDefinition } from '../loop.ts';
import { controllerReference, isControlledBy } from '../owner.ts';
import { wholeSeconds } from '../timestamps.ts';
import { isNamespaceEnding } from '../workloads/pods.ts';
import { problemsOf } from './backends.ts';
import { Claims } from './claims.ts';
import { dnsStatusOf, ingressOf, ingressSuffix, nameTaken, portIn } from './dns-plan.ts';

/** Serves objects of the kind DNS (MiniK8s): each owns an Ingress, which goes with it; names lead to that by themselves. */
export function dnses(deps: Deps): LoopDefinition {
  const { caches, objects } = deps;
  const all = keysOf(caches.dnses);
  const claims = new Claims();

  const leadingTo = ({ metadata }: Service): string[] =>
    caches.dnses.by('namespace', metadata.namespace ?? '').filter(({ spec }) => spec.paths.some(({ service }) => service.name === metadata.name)).map(objectKey);
  /** Whoever it belongs to, its name is that of one object's Ingress. */
  const namesake = (key: string): string[] => (key.endsWith(ingressSuffix) ? [key.slice(0, -ingressSuffix.length)] : []);

  /** The Ingress as it is then; undefined: its name is another's, or nothing more can be made in its namespace. */
  async function serve(dns: Dns, className: string): Promise<Ingress | undefined> {
    const wanted = ingressOf(dns, className);
    const { namespace = '' } = dns.metadata;
    const stored = caches.ingresses.get(namespace, wanted.metadata.name);
    if (stored === undefined) {
      const metadata = { ...wanted.metadata, namespace, ownerReferences: [controllerReference(dns)] };
      try {
        return await objects.create(caches.ingresses, { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata, spec: wanted.spec });
      } catch (error) {
        if (isNamespaceEnding(error)) return undefined;
        throw error;
      }
    }
    if (!isControlledBy(stored, dns)) return undefined;
    const annotations = { ...stored.metadata.annotations, ...wanted.metadata.annotations };
    if (isDeepStrictEqual(stored.spec, wanted.spec) && isDeepStrictEqual(stored.metadata.annotations, annotations) && isDeepStrictEqual(stored.metadata.labels ?? {}, wanted.metadata.labels)) return stored;
    return objects.update(caches.ingresses, { ...stored, spec: wanted.spec, metadata: { ...stored.metadata, annotations, labels: wanted.metadata.labels } });
  }

  return {
    name: 'dnses',
    keys: () => {
      claims.seen(caches.ingresses);
      return all();
    },
    wakes: [
      onOwnChange(caches.dnses),
      onChange(caches.ingresses, (change) => [objectKey(change.object), ...claims.changed(change)].flatMap(namesake)),
      onChange(caches.ingressClasses, all),
      onChange(caches.services, ({ object }) => leadingTo(object)),
    ],
    async reconcile(key) {
      const dns = byKey(caches.dnses, key);
      if (dns === undefined || dns.metadata.deletionTimestamp !== undefined) return;
      const { namespace = '' } = dns.metadata;
      const served = caches.ingressClasses.list().filter(({ spec }) => spec.controller === ingressController).map(({ metadata }) => metadata.name).sort();
      const ingress = await serve(dns, served[0] ?? 'roundsman');
      const problems = [
        ...(ingress === undefined ? [nameTaken(ingressOf(dns, '').metadata.name)] : claims.problemsOf(ingress, caches.ingressClasses.list())),
        ...problemsOf(dns.spec.paths.map(({ path, service: { name, port } }) => ({ service: name, port: portIn(port), way: `path ${dns.spec.host}${path}` })), namespace, (name) => caches.services.get(namespace, name)),
      ];
      const address = ingress?.status?.loadBalancer.ingress?.[0]?.ip;
      await objects.updateStatus(caches.dnses, dns, dnsStatusOf(dns, address, problems, wholeSeconds(Date.now())));
    },
  };
}
