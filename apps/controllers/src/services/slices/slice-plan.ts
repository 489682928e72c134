import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointPort, EndpointSlice } from '@roundsman/api';
import type { SliceGroup } from './slice-groups.ts';

/** Endpoints in one slice, as in Kubernetes: a change of one is told with so many others at most. */
const endpointsPerSlice = 100;

export type SliceContent = Pick<EndpointSlice, 'addressType' | 'ports' | 'endpoints'>;

/** How to get from the slices there are to those that are wanted. Done in this order, nothing that stays is missing in between. */
export interface SlicePlan {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly slice: EndpointSlice; readonly content: SliceContent }[];
  readonly remove: readonly EndpointSlice[];
}

interface Draft {
  /** What becomes of it; undefined: it is new. */
  readonly slice: EndpointSlice | undefined;
  readonly group: SliceGroup;
  readonly endpoints: Endpoint[];
  changed: boolean;
  /** It says that there are none; all others go when they are empty. */
  readonly saysNone?: boolean;
}

/**
 * With few writes: what is in a slice stays there, what is new goes into slices that are written anyway, else into the fullest that has room for all of it, else into new ones; and
 * a slice that would go becomes the one that would be made. `outdated`: it must be written in any case.
 */
export function planSlices(wanted: readonly SliceGroup[], existing: readonly EndpointSlice[], outdated: (slice: EndpointSlice) => boolean, limit = endpointsPerSlice): SlicePlan {
  const left = new Set([...existing].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)));
  const drafts = wanted.flatMap((group) => draftsOf(group, [...left].filter((slice) => groupKey(slice) === groupKey(group) && left.delete(slice)), limit));
  const made: SliceContent[] = [];
  const update: { slice: EndpointSlice; content: SliceContent }[] = [];
  for (const { slice, group, endpoints, changed, saysNone } of drafts) {
    const content = { addressType: group.addressType, ports: [...group.ports], endpoints };
    if (slice === undefined) made.push(content);
    else if (endpoints.length === 0 && saysNone !== true) left.add(slice);
    else if (changed || outdated(slice)) update.push({ slice, content });
  }
  const create: SliceContent[] = [];
  for (const content of made) {
    // The type of a slice cannot be changed.
    const spare = [...left].find(({ addressType }) => addressType === content.addressType);
    if (spare === undefined) create.push(content);
    else {
      left.delete(spare);
      update.push({ slice: spare, content });
    }
  }
  return { create, update, remove: [...left] };
}

function draftsOf(group: SliceGroup, slices: readonly EndpointSlice[], limit: number): Draft[] {
  const missing = new Map(group.endpoints.map((endpoint) => [endpointKey(endpoint), endpoint]));
  const drafts: Draft[] = slices.map((slice) => {
    const endpoints = slice.endpoints.flatMap((before) => {
      const key = endpointKey(before);
      const endpoint = missing.get(key);
      return endpoint !== undefined && missing.delete(key) ? [endpoint] : [];
    });
    return { slice, group, endpoints, changed: !isDeepStrictEqual(endpoints, slice.endpoints) };
  });
  if (group.endpoints.length === 0) {
    const [first = { slice: undefined, group, endpoints: [], changed: true }, ...others] = drafts;
    return [{ ...first, saysNone: true }, ...others];
  }
  const rest = [...missing.values()];
  const fill = (draft: Draft): void => {
    const taken = rest.splice(0, Math.max(0, limit - draft.endpoints.length));
    draft.endpoints.push(...taken);
    if (taken.length > 0) draft.changed = true;
  };
  // The fullest first: those that have become empty are to go.
  for (const draft of drafts.filter(({ changed }) => changed).sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  while (rest.length > 0) {
    const roomy = drafts.filter(({ endpoints, changed }) => !changed && endpoints.length + rest.length <= limit).sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
    const draft = roomy ?? { slice: undefined, group, endpoints: [], changed: true };
    if (roomy === undefined) drafts.push(draft);
    fill(draft);
  }
  return drafts;
}

const endpointKey = ({ addresses, targetRef }: Endpoint): string => `${addresses[0]} ${targetRef?.uid ?? ''}`;

const portKey = ({ name, protocol, port, appProtocol }: EndpointPort): string => JSON.stringify([name, protocol, port, appProtocol]);
const groupKey = ({ addressType, ports }: Pick<SliceGroup, 'addressType' | 'ports'>): string => [addressType, ...ports.map(portKey).sort()].join(' ');
