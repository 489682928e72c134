import { addressAt, overlaps, parseCidr, subdomainProblem, type Cidr, type ClusterNetwork } from '@roundsman/api';
import { z } from 'zod';

const texts = (value: string) => z.string().default(value).transform((text) => text.split(',').map((one) => one.trim()).filter((one) => one !== '' && one !== 'none'));
const ranges = (value: string) => texts(value).transform((all, context) => all.map((text) => tried(() => parseCidr(text), context)));
const portRange = z.string().default('30000-32767').transform((text, context) => tried(() => parsePorts(text), context));

function tried<T>(parse: () => T, context: z.RefinementCtx): T {
  try {
    return parse();
  } catch (error) {
    context.issues.push({ code: 'custom', message: (error as Error).message, input: context.value });
    return z.NEVER;
  }
}

function parsePorts(text: string): ClusterNetwork['nodePorts'] {
  const [first, last] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).slice(1).map(Number);
  if (first === undefined || last === undefined || first < 1 || last > 65_535 || first >= last) throw new Error('must be two ports such as 30000-32767, the first one below the second: the ingress of the cluster takes two');
  return { first, last };
}

/** The addresses of a cluster, as they are set; one range per family, IPv4 first. */
export const networkSettings = {
  podCidrs: ranges('10.244.0.0/16').describe('Ranges that the nodes get their pod CIDRs from: one, or one per family, IPv4 first'),
  nodePrefixes: texts('').transform((all) => all.map(Number)).describe('Prefix of the part of one node, per range of pods; 24 for IPv4 and 64 for IPv6 unless set'),
  serviceCidrs: ranges('10.96.0.0/16').describe('Ranges of ClusterIPs, of the same families as those of pods'),
  loadBalancerCidrs: ranges('10.97.0.0/24').describe('Ranges of the addresses of Services of type LoadBalancer; `none`: they get no address'),
  nodePorts: portRange.describe('Ports that Services may have on every node'),
  clusterDomain: z.string().default('cluster.local').describe('Domain of the names of Services and pods'),
  networkBackend: z.enum(['host-gw', 'vxlan']).default('host-gw').describe('How machines reach the pods of others: `host-gw` routes, or `vxlan` where routers between them do not know pod addresses'),
};
export type NetworkSettings = z.output<z.ZodObject<typeof networkSettings>>;
type RangeSetting = 'podCidrs' | 'serviceCidrs' | 'loadBalancerCidrs';

/** Name of the variable that sets it. */
export const environment = (key: keyof NetworkSettings): string => `ROUNDSMAN_INTAKE_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;

/** The longest prefix that leaves a node with an address for itself and for pods; the shortest that Kubernetes takes for services. */
const narrowestNode = { IPv4: 30, IPv6: 126 } as const;
const widestServices = { IPv4: 12, IPv6: 108 } as const;
/** The tenth address must be in it. */
const narrowestServices = { IPv4: 28, IPv6: 124 } as const;
/** More nodes than anybody has; each is looked at when one is given out. */
const mostNodeBits = 16;

/** What the settings say together that cannot be, by the setting that is to be changed. */
export function networkProblems(settings: NetworkSettings): { readonly setting: keyof NetworkSettings; readonly problem: string }[] {
  const problems: { setting: keyof NetworkSettings; problem: string }[] = [];
  const found = (setting: keyof NetworkSettings, problem: string): void => void problems.push({ setting, problem });
  const { podCidrs, serviceCidrs, loadBalancerCidrs, nodePrefixes } = settings;
  for (const [setting, own] of [['podCidrs', podCidrs], ['serviceCidrs', serviceCidrs], ['loadBalancerCidrs', loadBalancerCidrs]] as const) {
    if (own.length === 0 && setting !== 'loadBalancerCidrs') found(setting, 'must name a range');
    if (own.length > 2 || (own.length === 2 && own[0]!.family === own[1]!.family)) found(setting, 'must name one range per family at most');
    else if (own.length === 2 && own[0]!.family === 'IPv6') found(setting, 'must name the IPv4 range first');
  }
  if (podCidrs.map(({ family }) => family).join() !== serviceCidrs.map(({ family }) => family).join()) found('serviceCidrs', `must have the same families as ${environment('podCidrs')}`);
  if (nodePrefixes.length > 0 && nodePrefixes.length !== podCidrs.length) found('nodePrefixes', `must have as many prefixes as ${environment('podCidrs')} has ranges`);
  else problems.push(...podCidrs.flatMap((range, index) => prefixProblem(range, prefixesOf(settings)[index]!)));
  for (const { family, prefix, text } of serviceCidrs) {
    if (prefix < widestServices[family] || prefix > narrowestServices[family]) found('serviceCidrs', `${text} must have a prefix from ${widestServices[family]} to ${narrowestServices[family]}`);
  }
  problems.push(...overlapProblems({ podCidrs, serviceCidrs, loadBalancerCidrs }));
  const domainProblem = subdomainProblem(settings.clusterDomain);
  if (domainProblem !== undefined) found('clusterDomain', domainProblem);
  return problems;
}

function prefixProblem({ text, family, prefix }: Cidr, own: number): { setting: 'nodePrefixes'; problem: string }[] {
  const longest = Math.min(narrowestNode[family], prefix + mostNodeBits);
  return Number.isInteger(own) && own >= prefix && own <= longest ? [] : [{ setting: 'nodePrefixes', problem: `must be from ${prefix} to ${longest} for ${text}` }];
}

function overlapProblems(all: Readonly<Record<RangeSetting, readonly Cidr[]>>): { setting: RangeSetting; problem: string }[] {
  const ranges = Object.entries(all).flatMap(([setting, own]) => own.map((range) => ({ setting: setting as RangeSetting, range })));
  return ranges.flatMap(({ setting, range }, index) =>
    ranges.slice(0, index).flatMap((other) => (other.setting !== setting && overlaps(range, other.range) ? [{ setting, problem: `${range.text} overlaps with ${other.range.text} of ${environment(other.setting)}` }] : [])),
  );
}

const prefixesOf = ({ podCidrs, nodePrefixes }: NetworkSettings): number[] => (nodePrefixes.length > 0 ? nodePrefixes : podCidrs.map(({ family }) => (family === 'IPv4' ? 24 : 64)));

/** The tenth address, as kubeadm has it. */
const dnsPlace = 10n;

/** What the cluster is told of its addresses. `dnsAddresses`: those that its DNS has already. */
export function clusterNetworkOf(settings: NetworkSettings, dnsAddresses?: readonly string[]): ClusterNetwork {
  const { podCidrs, serviceCidrs, loadBalancerCidrs, nodePorts, clusterDomain, networkBackend } = settings;
  const text = (ranges: readonly Cidr[]): string[] => ranges.map((range) => range.text);
  return {
    podCidrs: text(podCidrs),
    nodePrefixes: prefixesOf(settings),
    serviceCidrs: text(serviceCidrs),
    loadBalancerCidrs: text(loadBalancerCidrs),
    nodePorts,
    domain: clusterDomain,
    dnsAddresses: dnsAddresses === undefined ? serviceCidrs.map((range) => addressAt(range, dnsPlace)) : [...dnsAddresses],
    backend: networkBackend,
  };
}
