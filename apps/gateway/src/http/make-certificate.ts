import 'reflect-metadata';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension, ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, PemConverter, SubjectAlternativeNameExtension, X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const years = (n: number): Date => new Date(Date.now() + n * 365 * 86_400_000);
/** Clocks of the machines may differ a little. */
const anHourAgo = (): Date => new Date(Date.now() - 3_600_000);
const newKeys = (): Promise<{ publicKey: CryptoKey; privateKey: CryptoKey }> => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
const pemOf = async (key: CryptoKey): Promise<string> => PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

interface Authority {
  readonly ca: string;
  readonly caKey: string;
}

async function newAuthority(): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=Roundsman gateway CA ${crypto.randomUUID().slice(0, 8)}`,
    notBefore: anHourAgo(),
    notAfter: years(10),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true)],
  });
  return { ca: certificate.toString('pem'), caKey: await pemOf(keys.privateKey) };
}

/** A certificate for these host names and addresses, by the authority given or a new one. PEM texts. */
export async function makeCertificate(names: readonly string[], authority?: Authority): Promise<Authority & { cert: string; key: string }> {
  const { ca, caKey } = authority ?? (await newAuthority());
  const issuer = new X509Certificate(ca);
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    subject: 'CN=Roundsman gateway',
    issuer: issuer.subject,
    notBefore: anHourAgo(),
    notAfter: new Date(Math.min(years(2).getTime(), issuer.notAfter.getTime())),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await crypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(caKey), algorithm, true, ['sign']),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
    ],
  });
  return { ca, caKey, cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}
