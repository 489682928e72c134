import { ingressClassOf, isServedIngress, type Ingress, type KubeObject, type Service } from '@roundsman/api';
import { byKey, keysOf, objectKey, onChange, type Deps, type LoopDefinition } from '../loop.ts';
import { backendsOf, problemsOf } from './backends.ts';
import { certificateProblemsOf, secretNames } from './certificates.ts';
import { Claims } from './claims.ts';
import { entranceAddresses, isEntrance } from './entrance.ts';

/** What decides whether requests can be forwarded to it. */
const wayIn = ({ spec }: Service): string => JSON.stringify([spec.type === 'ExternalName', spec.ports?.map(({ port, name: called }) => [port, called])]);

/** Tells Ingresses that the cluster serves at which address they are reached, which of their services and certificates are not there, and what of theirs an older one has. Those of other classes are not touched; of those whose class is gone our address is taken off. */
export function ingresses(deps: Deps): LoopDefinition {
  const { caches, objects, recorder, settings } = deps;
  const tell = recorder.from('ingress-controller');
  const all = keysOf(caches.ingresses);
  /** By key: what was told last, and when (ms), so that it is not told with every look, but again before the events are gone. */
  const told = new Map<string, { readonly text: string; readonly atMs: number }>();
  const againMs = settings.eventTtlMs / 2;
  const claims = new Claims();

  const leadingTo = ({ metadata }: Service): string[] =>
    caches.ingresses.by('namespace', metadata.namespace ?? '').filter((ingress) => backendsOf(ingress).some(({ service }) => service === metadata.name)).map(objectKey);

  const showing = ({ metadata }: KubeObject): string[] =>
    caches.ingresses.by('namespace', metadata.namespace ?? '').filter((ingress) => secretNames(ingress).includes(metadata.name)).map(objectKey);

  function tellProblems(key: string, ingress: Ingress): void {
    const { namespace = '' } = ingress.metadata;
    const problems = [
      ...problemsOf(backendsOf(ingress), namespace, (service) => caches.services.get(namespace, service)),
      ...certificateProblemsOf(ingress, (secret) => caches.secrets.get(namespace, secret)),
      ...claims.problemsOf(ingress, caches.ingressClasses.list()),
    ];
    const text = JSON.stringify([ingress.metadata.uid, problems]);
    const before = told.get(key);
    const nowMs = Date.now();
    if (before?.text !== text || nowMs - before.atMs >= againMs) {
      told.set(key, { text, atMs: nowMs });
      for (const { reason, message } of problems) tell(ingress, 'Warning', reason, message);
    }
  }

  return {
    name: 'ingresses',
    keys: () => {
      claims.seen(caches.ingresses);
      return all();
    },
    wakes: [
      onChange(caches.ingresses, (change) => [objectKey(change.object), ...claims.changed(change)]),
      onChange(caches.ingressClasses, all),
      onChange(caches.secrets, ({ object }) => showing(object)),
      onChange(caches.services, ({ type, object, before }) => {
        if (isEntrance(object)) return all();
        return before !== undefined && type !== 'DELETED' && wayIn(before) === wayIn(object) ? [] : leadingTo(object);
      }),
    ],
    async reconcile(key) {
      const ingress = byKey(caches.ingresses, key);
      if (ingress === undefined) told.delete(key);
      if (ingress === undefined || ingress.metadata.deletionTimestamp !== undefined) return;
      const classes = caches.ingressClasses.list();
      const addresses = entranceAddresses(caches);
      if (!isServedIngress(ingress, classes)) {
        told.delete(key);
        const { ingress: shown = [] } = ingress.status?.loadBalancer ?? {};
        const ours = shown.length > 0 && shown.every(({ ip }) => ip !== undefined && addresses.includes(ip));
        // Its class is gone: where it was served it is not any more.
        if (ours && ingressClassOf(ingress, classes) === undefined) await objects.updateStatus(caches.ingresses, ingress, { ...ingress.status, loadBalancer: {} });
        return;
      }
      await objects.updateStatus(caches.ingresses, ingress, { ...ingress.status, loadBalancer: addresses.length === 0 ? {} : { ingress: addresses.map((ip) => ({ ip })) } });
      tellProblems(key, ingress);
    },
  };
}
