import { z } from 'zod';

/** Settings from ROUNDSMAN_GATEWAY_<KEY>. */
export const gatewayConfig = z.object({
  host: z.string().default('127.0.0.1').describe('Address to listen on; another one than loopback needs a certificate'),
  port: z.coerce.number().int().min(0).max(65535).default(0).describe('0 takes a free one'),
  tokenFile: z.string().optional().describe('File with the bearer token(s), one per line; closed to others (mode 0600)'),
  insecure: z.stringbool().default(false).describe('Without a token file: let everybody in. Without a certificate: serve plain HTTP on any address'),
  tlsFolder: z.string().optional().describe('Folder in which the gateway makes and keeps a certificate authority (ca.crt) and its own certificate: serves HTTPS'),
  tlsCertFile: z.string().optional().describe('PEM certificate (chain) to serve HTTPS with, instead of tlsFolder'),
  tlsKeyFile: z.string().optional().describe('PEM key of tlsCertFile'),
  publicUrl: z.url().optional().describe('URL under which clients reach the gateway, when it is not host and port'),
  kdoctorAliases: z.stringbool().default(true).describe('Serve kdoctor.io and system.kdoctor.io'),
  kdoctorNamespace: z.string().min(1).default('default').describe('Namespace that the cluster-scoped kdoctor.io kinds live in'),
  maxLiveClients: z.coerce.number().int().positive().default(200).describe('Open event streams at most'),
  maxPodStreams: z.coerce.number().int().positive().default(500).describe('Open exec, attach, port-forward and log streams at most'),
  maxWatches: z.coerce.number().int().positive().default(2000).describe('Open watches at most'),
});
export type GatewayConfig = z.infer<typeof gatewayConfig>;
