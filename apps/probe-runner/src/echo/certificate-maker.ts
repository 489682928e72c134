import 'reflect-metadata';
import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { BasicConstraintsExtension, ExtendedKeyUsage, ExtendedKeyUsageExtension, KeyUsageFlags, KeyUsagesExtension, PemConverter, SubjectAlternativeNameExtension, X509Certificate, X509CertificateGenerator } from '@peculiar/x509';
import type { CertificateOrder, StoredCertificate } from './certificate.ts';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const years = (n: number): Date => new Date(Date.now() + n * 365 * 86_400_000);
/** Clocks of the machines may differ a little. */
const anHourAgo = (): Date => new Date(Date.now() - 3_600_000);

const pemOf = async (key: CryptoKey): Promise<string> => PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
const importKey = (pem: string): Promise<CryptoKey> => crypto.subtle.importKey('pkcs8', PemConverter.decodeFirst(pem), algorithm, true, ['sign']);
const newKeys = (): Promise<{ publicKey: CryptoKey; privateKey: CryptoKey }> => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);

async function authority(order: CertificateOrder): Promise<{ certificate: X509Certificate; key: CryptoKey }> {
  if (order.ca !== undefined && order.caKey !== undefined) return { certificate: new X509Certificate(order.ca), key: await importKey(order.caKey) };
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Roundsman echo target CA',
    notBefore: anHourAgo(),
    notAfter: years(10),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true)],
  });
  return { certificate, key: keys.privateKey };
}

async function make(order: CertificateOrder): Promise<StoredCertificate> {
  const { certificate: ca, key: caKey } = await authority(order);
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.create({
    subject: 'CN=Roundsman echo target',
    issuer: ca.subject,
    notBefore: anHourAgo(),
    notAfter: new Date(Math.min(years(2).getTime(), ca.notAfter.getTime())),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: caKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
      new SubjectAlternativeNameExtension(order.names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }))),
    ],
  });
  return { ca: ca.toString('pem'), caKey: await pemOf(caKey), cert: certificate.toString('pem'), key: await pemOf(keys.privateKey) };
}

// A process of its own (certificate.ts): the order on stdin, the certificate on stdout.
process.stdout.write(JSON.stringify(await make(JSON.parse(await text(process.stdin)) as CertificateOrder)));
