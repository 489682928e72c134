import { createHash } from 'node:crypto';
import type { Owner } from '@roundsman/containers';
import type { NetworkNamespace } from '../../services/network-namespace.ts';
import { runSteps } from './steps.ts';

/** Short and the same for the same texts: names of links have 15 characters at most. */
export const tagOf = (...texts: readonly string[]): string => createHash('sha256').update(texts.join('\n')).digest('hex').slice(0, 12);

/** Of the kernel's routing protocols: marks routes that are Roundsman's. No distribution has given it a name. */
export const routeProtocol = 142;

/** Both ends of every link that leads to a pod or a node: who goes through it needs to find out no hardware address. */
export const gatewayMac = 'ee:ee:ee:ee:ee:ee';
/** The next hop of pods and of nodes with a namespace of their own; nobody has these addresses, the neighbour entries name the link's other end. */
export const gateways = { IPv4: '169.254.1.1', IPv6: 'fe80::ecee:eeff:feee:eeee' } as const;

/** What a link is for is written on it, so that whoever comes later knows which are whose. */
export const aliasOf = ({ cluster, node }: Owner, end: string): string => `roundsman:${cluster}:${node}:${end}`;
const aliasPattern = /^roundsman:([^:]*):([^:]*):(.*)$/;

export interface OwnedLink {
  readonly name: string;
  readonly cluster: string;
  readonly node: string;
  /** Uid of the pod at its other end, or `node`. */
  readonly end: string;
}

interface Listed {
  readonly ifname: string;
  readonly ifalias?: string;
}

/** Links of Roundsman's in a namespace. */
export async function ownedLinks(place: NetworkNamespace): Promise<OwnedLink[]> {
  const listed = JSON.parse((await runSteps([{ in: place, script: 'ip -j link show' }])) || '[]') as Listed[];
  return listed.flatMap(({ ifname, ifalias }) => {
    const match = aliasPattern.exec(ifalias ?? '');
    return match === null ? [] : [{ name: ifname, cluster: match[1] ?? '', node: match[2] ?? '', end: match[3] ?? '' }];
  });
}
