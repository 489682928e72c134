import { z } from 'zod';
import { core, requiredText, text, texts } from '../fields.ts';

export const hostAliasSchema = core('HostAlias', 'A line of /etc/hosts', { ip: requiredText('The address'), hostnames: texts('Its names') });
export type HostAlias = z.infer<typeof hostAliasSchema>;

export const podDnsConfigSchema = core('PodDNSConfig', 'How names are resolved, besides what dnsPolicy gives', {
  nameservers: texts('Addresses of name servers'),
  searches: texts('Domains in which short names are looked for'),
  options: z
    .array(core('PodDNSConfigOption', 'A setting of the resolver', { name: text('Its name'), value: text('Its value') }))
    .optional()
    .describe('Settings of the resolver'),
});
export type PodDNSConfig = z.infer<typeof podDnsConfigSchema>;
