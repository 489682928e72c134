/** Words of nftables that differ by family of addresses. */
export interface Dialect {
  /** `4` or `6`, at the end of the names of maps. */
  readonly suffix: '4' | '6';
  readonly ip: 'ip' | 'ip6';
  readonly type: 'ipv4_addr' | 'ipv6_addr';
  /** The source address as part of a longer key. Of IPv6 its last 32 bits: nft 1.0 has no registers for more, and two clients that share them and a port share at worst a new conntrack zone. */
  readonly client: string;
  readonly loopback: string;
  readonly target: (address: string, port: number) => string;
}

export const ipv4: Dialect = { suffix: '4', ip: 'ip', type: 'ipv4_addr', client: 'ip saddr', loopback: '127.0.0.0/8', target: (address, port) => `${address}:${port}` };
export const ipv6: Dialect = { suffix: '6', ip: 'ip6', type: 'ipv6_addr', client: '@nh,160,32', loopback: '::1', target: (address, port) => `[${address}]:${port}` };
export const dialects = [ipv4, ipv6] as const;

export const dialectOf = (family: 'IPv4' | 'IPv6'): Dialect => (family === 'IPv4' ? ipv4 : ipv6);

/** Bit of a packet's mark: its source address is to be the node's. None of those of kube-proxy, the usual pod networks or Docker. */
export const masqueradeMark = '0x2000';
export const markForMasquerade = `meta mark set meta mark or ${masqueradeMark}`;
