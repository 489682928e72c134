import { invalid, kindByResource, type Cause, type Dns, type KubeObject } from '@roundsman/api';
import type { State } from '../state.ts';
import type { AddressBook } from './book.ts';

const resource = 'dnses.roundsman.io';

/** Which object owns which host, as of everything that was admitted. */
export class HostBook {
  readonly #owners = new Map<string, Dns>();

  constructor(state: Pick<State, 'list' | 'onAdmitted'>) {
    for (const object of state.list(resource)) this.#owners.set((object as Dns).spec.host, object as Dns);
    state.onAdmitted(resource, (before, after) => {
      const host = (before as Dns | undefined)?.spec.host;
      if (host !== undefined && this.#owners.get(host)?.metadata.uid === before?.metadata.uid) this.#owners.delete(host);
      if (after !== undefined) this.#owners.set((after as Dns).spec.host, after as Dns);
    });
  }

  /** The other object that owns a host. */
  otherOwner(host: string, uid: string): Dns | undefined {
    const owner = this.#owners.get(host);
    return owner?.metadata.uid === uid ? undefined : owner;
  }
}

/** One host belongs to one object, and none of the cluster's own names is given away. Throws a 422 that says whose it is. */
export function checkHost(object: KubeObject, { hosts, addresses }: { readonly hosts: HostBook; readonly addresses: AddressBook }): void {
  const { metadata, spec } = object as Dns;
  const { host } = spec;
  const { domain } = addresses.network;
  const refuse = (cause: Omit<Cause, 'field'>): never => {
    throw invalid(kindByResource.get(resource)!, metadata.name, [{ field: 'spec.host', ...cause }]);
  };
  const owner = hosts.otherOwner(host, metadata.uid);
  if (owner !== undefined) refuse({ reason: 'FieldValueDuplicate', message: `Duplicate value: ${JSON.stringify(host)}: the host belongs to DNS ${owner.metadata.namespace}/${owner.metadata.name}` });
  if (host === domain || host.endsWith(`.${domain}`)) refuse({ reason: 'FieldValueForbidden', message: `Forbidden: names below ${domain} are those of Services and pods` });
}
