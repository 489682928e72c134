import { comparedPath, stripPrefixAnnotation, type Ingress, type IngressBackend } from '@roundsman/api';
import { Hosts } from './host.ts';
import { PathRules } from './path.ts';

/** A port of a Service as an Ingress names it. */
export interface ServicePortReference {
  readonly namespace: string;
  readonly service: string;
  readonly port: string | number;
}

export type Target =
  | ({ readonly kind: 'service' } & ServicePortReference)
  /** What is named cannot be forwarded to; `why` is a sentence. */
  | { readonly kind: 'none'; readonly why: string };

/** Where requests go, and by whose word. */
export interface Route {
  /** `namespace/name` of the Ingress. */
  readonly ingress: string;
  readonly target: Target;
  /** The matched prefix is taken off before a request is forwarded. */
  readonly stripsPrefix: boolean;
  /** Plain HTTP is sent on to HTTPS where the host has TLS. */
  readonly redirects: boolean;
}

export interface Found {
  readonly route: Route;
  /** The part of the path that the rule covers, with no slash at its end; empty for a default backend. */
  readonly matched: string;
}

/** Hosts that an Ingress wants TLS for, and the Secret of its namespace that holds the certificate. */
export interface TlsEntry {
  readonly ingress: string;
  readonly namespace: string;
  /** undefined: the certificate of the proxy itself. */
  readonly secret: string | undefined;
  readonly hosts: readonly string[];
}

export const sslRedirectAnnotation = 'roundsman.io/ssl-redirect';

interface HostRules {
  readonly paths: PathRules<Route>;
  /** Default backend of the oldest Ingress with a rule for the host that has one. */
  fallback: Route | undefined;
}

/** What the Ingresses of our classes say, made for looking up. Never changed: a new one is made when they change. */
export class Routes {
  readonly #hosts = new Hosts<HostRules>();
  readonly #secured = new Hosts<true>();
  readonly tls: readonly TlsEntry[];
  readonly #references: ServicePortReference[] = [];
  /** For requests of hosts and paths that no rule fits: default backend of the oldest Ingress without rules, else of the oldest that has one. */
  readonly fallback: Route | undefined;

  /** `ingresses` are those that are served here, the oldest first: the older wins where two say different things. */
  constructor(ingresses: readonly Ingress[]) {
    this.tls = ingresses.flatMap(tlsEntries);
    for (const host of this.tls.flatMap(({ hosts }) => hosts)) this.#secured.set(host, true);
    for (const ingress of ingresses) this.#add(ingress);
    const withDefault = ingresses.filter(({ spec }) => spec.defaultBackend !== undefined);
    const chosen = withDefault.find(({ spec }) => (spec.rules ?? []).length === 0) ?? withDefault[0];
    this.fallback = chosen === undefined ? undefined : defaultRoute(chosen);
  }

  /** Every Service port that is named, some more than once. */
  get references(): readonly ServicePortReference[] {
    return this.#references;
  }

  /** `host` as of `hostName`, `path` as of `canonicalPath`. The most specific host decides alone; what none of its rules fits goes to a default backend. */
  find(host: string, path: string): Found | undefined {
    const rules = this.#hosts.find(host);
    const found = rules?.paths.find(path);
    if (found !== undefined) return { route: found.rule, matched: found.matched };
    const route = rules?.fallback ?? this.fallback;
    return route === undefined ? undefined : { route, matched: '' };
  }

  /** Whether some Ingress wants TLS for this host. */
  secured(host: string): boolean {
    return this.#secured.find(host) === true;
  }

  /** Whether there is any rule for this host. */
  knows(host: string): boolean {
    return this.#hosts.find(host) !== undefined;
  }

  #add(ingress: Ingress): void {
    const { spec, metadata } = ingress;
    const stripsPrefix = metadata.annotations?.[stripPrefixAnnotation] === 'true';
    const fallback = defaultRoute(ingress);
    if (fallback?.target.kind === 'service') this.#references.push(fallback.target);
    for (const { host = '', http } of spec.rules ?? []) {
      const rules = this.#rulesOf(host.toLowerCase());
      rules.fallback ??= fallback;
      for (const one of http?.paths ?? []) {
        const { match, path } = comparedPath(one);
        const route: Route = { ingress: keyOf(ingress), target: targetOf(ingress, one.backend), stripsPrefix, redirects: redirects(ingress) };
        if (route.target.kind === 'service') this.#references.push(route.target);
        rules.paths.add(path, match, route);
      }
    }
  }

  #rulesOf(host: string): HostRules {
    let rules = this.#hosts.get(host);
    if (rules === undefined) {
      rules = { paths: new PathRules(), fallback: undefined };
      this.#hosts.set(host, rules);
    }
    return rules;
  }
}

const redirects = ({ metadata }: Ingress): boolean => metadata.annotations?.[sslRedirectAnnotation] !== 'false';
const keyOf = ({ metadata }: Ingress): string => `${metadata.namespace ?? ''}/${metadata.name}`;

function defaultRoute(ingress: Ingress): Route | undefined {
  const { defaultBackend } = ingress.spec;
  return defaultBackend === undefined ? undefined : { ingress: keyOf(ingress), target: targetOf(ingress, defaultBackend), stripsPrefix: false, redirects: redirects(ingress) };
}

function targetOf({ metadata }: Ingress, { service, resource }: IngressBackend): Target {
  if (service !== undefined) return { kind: 'service', namespace: metadata.namespace ?? '', service: service.name, port: service.port.name ?? service.port.number ?? 0 };
  return { kind: 'none', why: resource === undefined ? 'it names no backend' : `its backend is the ${resource.kind} ${resource.name}, and only Services are forwarded to` };
}

/** An entry without hosts is for all hosts of the Ingress's rules. */
function tlsEntries(ingress: Ingress): TlsEntry[] {
  const { spec, metadata } = ingress;
  const ruleHosts = (spec.rules ?? []).map(({ host }) => host ?? '');
  return (spec.tls ?? []).map(({ hosts, secretName }) => ({
    ingress: keyOf(ingress),
    namespace: metadata.namespace ?? '',
    secret: secretName,
    hosts: (hosts === undefined || hosts.length === 0 ? ruleHosts : hosts).map((host) => host.toLowerCase()),
  }));
}
