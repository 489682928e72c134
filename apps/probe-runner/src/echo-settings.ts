import { getServers } from 'node:dns';
import { hostname } from 'node:os';
import { runnerPodPorts } from '@roundsman/api/wire';
import { z } from 'zod';
import { addresses, endpoint, texts } from './config.ts';

/** Those of a runner's pod: above 1024, so no rights are needed. */
const port = (number: number): z.ZodDefault<z.ZodCoercedNumber> => z.coerce.number().int().min(1).max(65_535).default(number);

/** A name server of the machine (or pod), as its resolv.conf has it. */
const systemUpstream = (): string => {
  const [server = ''] = getServers();
  return /^\[.*\]:\d+$|^[^:]+:\d+$/.test(server) ? server : server.includes(':') ? `[${server}]:53` : `${server}:53`;
};

/** Settings of the echo program: ROUNDSMAN_ECHO_<KEY>. */
export const echoSettingsSchema = z.object({
  /** IP addresses it listens on, separated by commas; `any`: every address there is. */
  bindAddresses: addresses.prefault('any'),
  httpPort: port(runnerPodPorts.http),
  httpsPort: port(runnerPodPorts.https),
  /** UDP and TCP. */
  dnsPort: port(runnerPodPorts.dns),
  dotPort: port(runnerPodPorts.dot),
  udpPort: port(runnerPodPorts.udp),
  /** Who answers, in every echo. */
  serverName: z.string().default(hostname()),
  /** PEM files of its certificate, with what signed it. Without them it makes one, for its addresses and `certificateNames`, and an authority, which it hands out at `/ca.crt`. */
  certificateFile: z.string().optional(),
  keyFile: z.string().optional(),
  caFile: z.string().optional(),
  certificateNames: texts,
  /** PEM file: HTTPS lets in only those whose certificate is signed by it. */
  clientCaFile: z.string().optional(),
  /** DNS server for names it does not know, `address:port`, or `system`: the first of resolv.conf. Such names are refused without it. */
  dnsUpstream: z.string().transform((text) => (text === 'system' ? systemUpstream() : text)).pipe(endpoint).optional(),
  /** Where a certificate that it made is kept over restarts. */
  dataDir: z.string().optional(),
  logLevel: z.string().default('info'),
});
