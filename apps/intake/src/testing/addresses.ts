import { z } from 'zod';
import { AddressBook } from '../addresses/book.ts';
import { HostBook } from '../addresses/hosts.ts';
import { clusterNetworkOf, networkSettings } from '../network/settings.ts';

type Known = ConstructorParameters<typeof HostBook>[0];
const nothing: Known = { list: () => [], onAdmitted: () => undefined };

/** The addresses of a cluster with these settings, as in the environment: of no service yet, and of those that `state` is told of. */
export const addressBook = (settings: Readonly<Record<string, string>> = {}, state = nothing): AddressBook => new AddressBook(clusterNetworkOf(z.object(networkSettings).parse(settings)), state);

/** What is given away once, with the usual settings. */
export const books = (state = nothing): { addresses: AddressBook; hosts: HostBook } => ({ addresses: addressBook({}, state), hosts: new HostBook(state) });
