import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export interface Example {
  readonly kind: string;
  readonly name: string;
  readonly text: string;
  /** Where to create it. */
  readonly path: string;
  /** Where its report will be. */
  readonly reportPath: string;
}

const plurals: Record<string, string> = { NetReach: 'netreaches', AppHttpHealthy: 'apphttphealthies', NetDNS: 'netdnses' };

/** The examples of deploy/, as they are: what the demo shows is what a person would apply. */
export function examples(): Example[] {
  return ['netreach', 'apphttphealthy', 'netdns'].map((file) => {
    const text = readFileSync(fileURLToPath(new URL(`../../../../deploy/examples/${file}.yaml`, import.meta.url)), 'utf8');
    const { kind, metadata } = parse(text) as { kind: string; metadata: { name: string; namespace: string } };
    const base = `/apis/roundsman.io/v1/namespaces/${metadata.namespace}`;
    return { kind, name: metadata.name, text, path: `${base}/${plurals[kind]}`, reportPath: `${base}/reports/${kind.toLowerCase()}-${metadata.name}` };
  });
}
