import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { Ingress, KubeObject } from '@roundsman/api';

type Secret = KubeObject & { readonly type?: string; readonly data?: Readonly<Record<string, string>> | null };

export interface CertificateProblem {
  readonly reason: 'SecretNotFound' | 'InvalidCertificate';
  readonly message: string;
}

export const secretNames = ({ spec }: Ingress): string[] => (spec.tls ?? []).flatMap(({ secretName }) => secretName ?? []);

/** What keeps an Ingress from showing the certificates that it names: for these hosts the ingress proxy shows one of its own. */
export function certificateProblemsOf({ spec, metadata }: Ingress, find: (name: string) => KubeObject | undefined): CertificateProblem[] {
  return (spec.tls ?? []).flatMap(({ secretName, hosts = [] }): CertificateProblem[] => {
    if (secretName === undefined) return [];
    const shown = `the ingress proxy shows its own certificate for ${hosts.join(', ') || 'all hosts of its rules'}`;
    const secret = find(secretName) as Secret | undefined;
    if (secret === undefined) return [{ reason: 'SecretNotFound', message: `Secret "${secretName}" does not exist in namespace "${metadata.namespace}"; ${shown}` }];
    const problem = problemIn(secret);
    return problem === undefined ? [] : [{ reason: 'InvalidCertificate', message: `Secret "${secretName}" ${problem}; ${shown}` }];
  });
}

function problemIn({ type = 'Opaque', data }: Secret): string | undefined {
  if (type !== 'kubernetes.io/tls') return `is of type ${type}, not kubernetes.io/tls`;
  const [certificate, key] = ['tls.crt', 'tls.key'].map((name) => Buffer.from(data?.[name] ?? '', 'base64'));
  try {
    return new X509Certificate(certificate!).checkPrivateKey(createPrivateKey(key!)) ? undefined : 'holds a key that is not that of its certificate';
  } catch (error) {
    return `holds no certificate and key that can be used: ${(error as Error).message}`;
  }
}
