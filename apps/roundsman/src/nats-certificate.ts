import { isIP } from 'node:net';
import { natsService } from '@roundsman/api';
import { serverCertificate } from '@roundsman/gateway';
import { machineAddresses } from '@roundsman/node-agent';
import type { Home } from './home.ts';

/** Of NATS, and of the server by which machines join: both prove themselves by the same authority. */
export interface NatsCertificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  /** Of this machine, by which others reach it; not those of its bridges and links, which come and go. */
  readonly addresses: readonly string[];
  readonly files: { readonly certFile: string; readonly keyFile: string; readonly caFile: string };
}

/**
 * For those who come over the network: other machines by its addresses, pods by the name of its Service. Made once, and anew by the same authority
 * when it lacks a name or runs out.
 */
export async function natsCertificate(home: Home, listen: string | undefined, env: NodeJS.ProcessEnv): Promise<NatsCertificate> {
  const folder = home.file('keys', 'join');
  const service = `${natsService.name}.${natsService.namespace}.svc`;
  const clusterDomain = env['ROUNDSMAN_INTAKE_CLUSTER_DOMAIN'] || 'cluster.local';
  // As its agents see it.
  const set = env['ROUNDSMAN_NODE_AGENT_ADDRESSES'] || listen;
  const found = await machineAddresses(set === undefined ? [] : set.split(',').map((address) => address.trim()));
  const addresses = [...new Set([...found, ...(listen === undefined ? [] : [listen])])].filter((address) => isIP(address) !== 0);
  const { cert, key, ca } = (await serverCertificate({ tlsFolder: folder }, [service, `${service}.${clusterDomain}`, ...addresses])) ?? {};
  if (cert === undefined || key === undefined || ca === undefined) throw new Error(`no certificate was made in ${folder}`);
  const file = (name: string): string => home.file('keys', 'join', name);
  return { cert, key, ca, addresses, files: { certFile: file('tls.crt'), keyFile: file('tls.key'), caFile: file('ca.crt') } };
}
