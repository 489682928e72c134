import { z } from 'zod';
import { AddressBook } from '../addresses/book.ts';
import { clusterNetworkOf, networkSettings } from '../network/settings.ts';

/** The addresses of a cluster with these settings, as in the environment: of no service yet, and of those that `state` is told of. */
export const addressBook = (settings: Readonly<Record<string, string>> = {}, state: ConstructorParameters<typeof AddressBook>[1] = { list: () => [], onAdmitted: () => undefined }): AddressBook =>
  new AddressBook(clusterNetworkOf(z.object(networkSettings).parse(settings)), state);
