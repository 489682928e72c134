import 'reflect-metadata';
import { ExtendedKeyUsage, ExtendedKeyUsageExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

/** The data of a Secret of type kubernetes.io/tls with a certificate of its own authority for these hosts. */
export async function tlsData(name: string, ...hosts: string[]): Promise<{ 'tls.crt': string; 'tls.key': string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`, notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 86_400_000), signingAlgorithm: algorithm, keys,
    extensions: [new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]), new SubjectAlternativeNameExtension(hosts.map((value) => ({ type: 'dns' as const, value })))],
  });
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return { 'tls.crt': base64(certificate.toString('pem')), 'tls.key': base64(PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY')) };
}
