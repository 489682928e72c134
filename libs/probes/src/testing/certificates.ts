import 'reflect-metadata';
import { BasicConstraintsExtension, PemConverter, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const validity = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 3_600_000) };

export interface TestPki {
  ca: string;
  server: { cert: string; key: string };
  client: { cert: string; key: string };
}

/** A CA, a server certificate for 127.0.0.1 and probe.test, and a client certificate; PEM, valid for an hour. */
export async function makePki(): Promise<TestPki> {
  const newKeys = (): Promise<{ publicKey: CryptoKey; privateKey: CryptoKey }> => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const caKeys = await newKeys();
  const ca = await X509CertificateGenerator.createSelfSigned({ name: 'CN=Probe test CA', keys: caKeys, signingAlgorithm: algorithm, ...validity, extensions: [new BasicConstraintsExtension(true, undefined, true)] });
  const leaf = async (name: string, names: { type: 'dns' | 'ip'; value: string }[]): Promise<{ cert: string; key: string }> => {
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${name}`,
      issuer: ca.subject,
      publicKey: keys.publicKey,
      signingKey: caKeys.privateKey,
      signingAlgorithm: algorithm,
      ...validity,
      extensions: names.length === 0 ? [] : [new SubjectAlternativeNameExtension(names)],
    });
    return { cert: certificate.toString('pem'), key: PemConverter.encode(await crypto.subtle.exportKey('pkcs8', keys.privateKey), 'PRIVATE KEY') };
  };
  return {
    ca: ca.toString('pem'),
    server: await leaf('server', [{ type: 'ip', value: '127.0.0.1' }, { type: 'dns', value: 'probe.test' }]),
    client: await leaf('client', []),
  };
}
