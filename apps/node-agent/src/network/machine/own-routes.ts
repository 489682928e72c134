import { indexIn, parseCidr } from '@roundsman/api';
import { routeProtocol } from '../kernel/links.ts';
import { here, runSteps } from '../kernel/steps.ts';

export interface Route {
  readonly range: string;
  readonly device: string;
  readonly type: string;
  /** Over another machine, not by the link of a pod or a node of this one. */
  readonly isWayElsewhere: boolean;
}

interface Listed {
  readonly dst: string;
  readonly dev?: string;
  readonly type?: string;
  readonly gateway?: string;
  readonly via?: object;
}

/** Routes of this machine that are Roundsman's, of all clusters. */
export async function listedRoutes(): Promise<Route[]> {
  const [v4 = '', v6 = ''] = (await runSteps([{ in: here, script: `ip -j route show proto ${routeProtocol}; echo; echo -; ip -6 -j route show proto ${routeProtocol} 2>/dev/null || :` }])).split('\n-\n');
  return [...parse(v4), ...parse(v6)].map(({ dst, dev = '', type = 'unicast', gateway, via }) => ({
    range: dst.includes('/') ? dst : `${dst}/${dst.includes(':') ? 128 : 32}`,
    device: dev,
    type,
    isWayElsewhere: (gateway !== undefined || via !== undefined) && !dev.startsWith('rn'),
  }));
}

const parse = (text: string): Listed[] => JSON.parse(text.trim() || '[]') as Listed[];

export const isOwnRoute = ({ range }: Route, podCidrs: readonly string[]): boolean => podCidrs.some((cidr) => indexIn(parseCidr(cidr), range.split('/')[0] ?? '') !== undefined);
