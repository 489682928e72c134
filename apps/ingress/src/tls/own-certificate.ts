import 'reflect-metadata';
import { ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const lifetimeMs = 3 * 365 * 86_400_000;

/** A certificate for hosts that have none: nobody trusts it, and its name says what it is. Made anew with every start. PEM texts. */
export async function ownCertificate(): Promise<{ key: string; cert: string }> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Roundsman ingress default certificate,O=Roundsman',
    // Clocks of clients may differ a little.
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + lifetimeMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension([{ type: 'dns', value: 'ingress.invalid' }]),
    ],
  });
  return { key: PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY'), cert: certificate.toString('pem') };
}
