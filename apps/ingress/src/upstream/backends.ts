import { serviceKeyOf } from '@roundsman/api';
import type { NetworkState, NetworkStateChange } from '@roundsman/network';
import type { ServicePortReference } from '../rules/routes.ts';
import { addressesOf, type Address } from './addresses.ts';
import { Choice } from './choice.ts';
import { Endpoint } from './endpoint.ts';

export type Backend = { readonly choice: Choice } | { readonly problem: string };

/** Backends by Service and port, worked out when they are first asked for and again after a change. An endpoint keeps its connections as long as some backend has it. */
export class Backends {
  readonly #state: NetworkState;
  readonly #connectMs: number;
  readonly #endpoints = new Map<string, Endpoint>();
  /** `namespace/name` of the Service, then port. */
  readonly #backends = new Map<string, Map<string | number, Backend>>();
  readonly #unwatch: () => void;

  constructor(state: NetworkState, connectMs: number) {
    this.#state = state;
    this.#connectMs = connectMs;
    this.#unwatch = state.onChange((change) => this.#changed(change));
  }

  of(reference: ServicePortReference): Backend {
    const key = `${reference.namespace}/${reference.service}`;
    let ports = this.#backends.get(key);
    if (ports === undefined) this.#backends.set(key, (ports = new Map()));
    let backend = ports.get(reference.port);
    if (backend === undefined) ports.set(reference.port, (backend = this.#make(reference)));
    return backend;
  }

  /** Those that have connections or may get some. */
  endpoints(): readonly Endpoint[] {
    return [...this.#endpoints.values()];
  }

  /** The rules have changed: of what they no longer name nothing is kept. */
  keepOnly(named: readonly ServicePortReference[]): void {
    const kept = new Map<string, Set<string | number>>();
    for (const { namespace, service, port } of named) {
      const key = `${namespace}/${service}`;
      kept.set(key, (kept.get(key) ?? new Set()).add(port));
    }
    for (const [key, ports] of this.#backends) {
      for (const [port, backend] of ports) {
        if (kept.get(key)?.has(port) === true) continue;
        ports.delete(port);
        this.#release(backend);
      }
      if (ports.size === 0) this.#backends.delete(key);
    }
  }

  close(): void {
    this.#unwatch();
    for (const endpoint of this.#endpoints.values()) endpoint.retire();
  }

  #changed(change: NetworkStateChange): void {
    if (change.resource === 'services') this.#refresh(`${change.object.metadata.namespace ?? ''}/${change.object.metadata.name}`);
    if (change.resource !== 'endpointslices.discovery.k8s.io') return;
    for (const slice of [change.object, change.before]) {
      const key = slice === undefined ? undefined : serviceKeyOf(slice);
      if (key !== undefined) this.#refresh(key);
    }
  }

  /** Endpoints that stay are taken before the former list is let go, so that their connections stay too. */
  #refresh(key: string): void {
    const ports = this.#backends.get(key);
    const [namespace = '', service = ''] = key.split('/');
    for (const [port, before] of ports ?? []) {
      ports?.set(port, this.#make({ namespace, service, port }));
      this.#release(before);
    }
  }

  #make(reference: ServicePortReference): Backend {
    const found = addressesOf(this.#state, reference);
    return 'problem' in found ? found : { choice: new Choice(found.addresses.map((address) => this.#take(address))) };
  }

  #take({ address, port }: Address): Endpoint {
    const key = `${address} ${port}`;
    let endpoint = this.#endpoints.get(key);
    if (endpoint === undefined) this.#endpoints.set(key, (endpoint = new Endpoint(address, port, this.#connectMs)));
    endpoint.uses += 1;
    return endpoint;
  }

  #release(backend: Backend): void {
    if ('problem' in backend) return;
    for (const endpoint of backend.choice.endpoints) {
      endpoint.uses -= 1;
      if (endpoint.uses > 0) continue;
      this.#endpoints.delete(`${endpoint.address} ${endpoint.port}`);
      endpoint.retire();
    }
  }
}
