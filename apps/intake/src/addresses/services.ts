import { ApiError, clusterIpCauses, goList, invalid, invalidValue, isHeadless, kindByResource, type Cause, type KubeObject, type Service } from '@roundsman/api';
import type { AdmissionView } from '../admission/outcome.ts';
import { askerOf, type AddressBook, type Asker } from './book.ts';
import { alignClusterIps, dropForeign, keepGiven } from './carry-over.ts';
import { chooseFamilies, keepsPreference } from './families.ts';
import { giveNodePorts } from './node-ports.ts';

type Spec = Service['spec'];

/**
 * Gives a service its addresses and its ports on the nodes, or what it asks for of these. Changes `object`; throws a 422 for what it cannot have. Given is
 * only what is admitted then (AddressBook).
 */
export function completeService(object: KubeObject, { addresses: book }: Pick<AdmissionView, 'addresses'>, before: KubeObject | undefined): void {
  const service = object as Service;
  const { spec } = service;
  const old = (before as Service | undefined)?.spec;
  if (old !== undefined) keepGiven(spec, old);
  alignClusterIps(spec, old);
  if (old !== undefined) dropForeign(service, old);
  const asker = askerOf(object);
  const refuse = (causes: readonly Cause[]): void => {
    if (causes.length > 0) throw invalid(kindByResource.get('services')!, object.metadata.name ?? '', causes);
  };
  if (!keepsPreference(spec, old)) refuse(clusterIpCauses(spec));
  refuse(chooseFamilies(spec, old, book.families));
  refuse(giveClusterIps(spec, old, asker, book));
  refuse(giveNodePorts(spec, old, asker, book));
}

/** An address of each family. The first one of a service that has it is not changed here: the rules say that it stays. */
function giveClusterIps(spec: Spec, old: Spec | undefined, asker: Asker, book: AddressBook): Cause[] {
  if (spec.type === 'ExternalName' || isHeadless(spec) || keepsPreference(spec, old)) return [];
  const has = old === undefined || old.type === 'ExternalName' ? [] : (old.clusterIPs ?? []);
  if (has[0] === 'None') return [];
  const asked = spec.clusterIPs ?? [];
  const given = [...asked];
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    if (index < has.length) continue;
    const address = asked[index] ?? book.freeAddress(family);
    if (address === undefined) throw new ApiError('InternalError', 'Internal error occurred: failed to allocate a serviceIP: range is full');
    const problem = asked[index] === undefined ? undefined : book.addressProblem(family, address, asker);
    if (problem !== undefined) return [invalidValue('spec.clusterIPs', goList(asked), `failed to allocate IP ${address}: ${problem}`)];
    given[index] = address;
  }
  if (given.length > 0) {
    spec.clusterIPs = given;
    spec.clusterIP = given[0];
  }
  return [];
}
