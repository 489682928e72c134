import { comparedPath, ingressOrder, isServedIngress, legacyIngressClassAnnotation, type Ingress, type IngressClass } from '@roundsman/api';
import type { Informer, Seen } from '@roundsman/reconcile';
import { objectKey } from '../loop.ts';

/** Something that only one Ingress can have. */
interface Claim {
  readonly key: string;
  /** For people: `path shop.example.com/cart`. */
  readonly way: string;
}

/** What an Ingress asks for and does not get. */
export interface ClaimProblem {
  readonly reason: 'PathTaken';
  readonly message: string;
}

const shownWays = 5;

function claimsOf({ spec }: Ingress): Claim[] {
  const { defaultBackend, rules = [] } = spec;
  const claims = rules.flatMap(({ host = '', http }): Claim[] =>
    (http?.paths ?? []).map((one) => {
      const { match, path } = comparedPath(one);
      return { key: `${host.toLowerCase()} ${match} ${path}`, way: `${match === 'exact' ? 'exact path' : 'path'} ${host || '*'}${one.path ?? '/'}` };
    }),
  );
  if (defaultBackend === undefined) return claims;
  const fallbacks = rules.length === 0 ? [{ key: 'default', way: 'the default backend' }] : [...new Set(rules.map(({ host = '' }) => host.toLowerCase()))].map((host) => ({ key: `${host} default`, way: `the default backend of ${host || '*'}` }));
  return [...claims, ...fallbacks];
}

/** Which Ingresses want the same host and path, or the same default backend: the first one by `ingressOrder` of those that are served has it, as the ingress proxy sees it. */
export class Claims {
  readonly #claimants = new Map<string, Map<string, Ingress>>();
  /** By uid. */
  readonly #known = new Map<string, readonly Claim[]>();

  /** All there are, whatever was put before. */
  seen(ingresses: Pick<Informer<Ingress>, 'list'>): void {
    this.#claimants.clear();
    this.#known.clear();
    for (const ingress of ingresses.list()) this.put(ingress);
  }

  /** The others (`namespace/name`) that a change concerns. */
  changed({ type, object, before }: Seen<Ingress>): string[] {
    // What is told of as gone may be one made anew, of which nothing was heard.
    if (type === 'DELETED') return this.remove(before ?? object);
    const same = before?.metadata.uid === object.metadata.uid && before.metadata.generation === object.metadata.generation && classIn(before) === classIn(object);
    return same ? [] : this.put(object);
  }

  /** As it is now. Answers the others (`namespace/name`) that want, or wanted, the same. */
  put(ingress: Ingress): string[] {
    const concerned = this.remove(ingress);
    const { uid } = ingress.metadata;
    const claims = claimsOf(ingress);
    this.#known.set(uid, claims);
    for (const { key } of claims) {
      const claimants = this.#claimants.get(key) ?? new Map<string, Ingress>();
      for (const other of claimants.values()) if (other.metadata.uid !== uid) concerned.push(objectKey(other));
      this.#claimants.set(key, claimants.set(uid, ingress));
    }
    return [...new Set(concerned)];
  }

  /** Answers as `put`. */
  remove({ metadata: { uid } }: Ingress): string[] {
    const concerned: string[] = [];
    for (const { key } of this.#known.get(uid) ?? []) {
      const claimants = this.#claimants.get(key);
      claimants?.delete(uid);
      if (claimants?.size === 0) this.#claimants.delete(key);
      for (const other of claimants?.values() ?? []) concerned.push(objectKey(other));
    }
    this.#known.delete(uid);
    return [...new Set(concerned)];
  }

  /** One for each Ingress that has something of this one's, as it was put last. */
  problemsOf({ metadata: { uid } }: Ingress, classes: readonly IngressClass[]): ClaimProblem[] {
    const lost = new Map<string, Set<string>>();
    for (const { key, way } of this.#known.get(uid) ?? []) {
      const claimants = [...(this.#claimants.get(key)?.values() ?? [])];
      if (claimants.length < 2) continue;
      const [holder] = claimants.filter((one) => isServedIngress(one, classes)).sort(ingressOrder);
      if (holder !== undefined && holder.metadata.uid !== uid) lost.set(objectKey(holder), (lost.get(objectKey(holder)) ?? new Set()).add(way));
    }
    return [...lost].map(([holder, ways]) => ({ reason: 'PathTaken', message: `Ingress "${holder}" comes first and gets the requests of ${shown([...ways])}` }));
  }
}

const classIn = ({ metadata }: Ingress): string | undefined => metadata.annotations?.[legacyIngressClassAnnotation];
const shown = (ways: readonly string[]): string => [...ways.slice(0, shownWays), ...(ways.length > shownWays ? [`${ways.length - shownWays} more`] : [])].join(', ');
