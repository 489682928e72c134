import { describe, expect, it } from '@jest/globals';
import type { KubeObject, RoundSpec } from '@roundsman/api';
import { ServiceError } from '@roundsman/bus';
import { materialsOf } from './materials.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const pem = (what: string): string => `-----BEGIN ${what}-----\nx\n-----END ${what}-----\n`;
const stored: Record<string, object> = {
  'secrets/shop/tls': { data: { 'ca.crt': base64(pem('CA')), 'tls.crt': base64(pem('CERT')), 'tls.key': base64(pem('KEY')) } },
  'secrets/other/ca': { data: { 'ca.crt': base64(pem('CA')) } },
  'secrets/shop/half': { data: { 'tls.crt': base64(pem('CERT')) } },
  'configmaps/shop/flat': { data: { a: '1', b: 'two' } },
  'configmaps/shop/raw': { data: { body: '<xml/>' } },
  'configmaps/shop/bytes': { binaryData: { body: 'AP8=' } },
};
const get = async (resource: string, namespace: string, name: string): Promise<KubeObject> => {
  const found = stored[`${resource}/${namespace}/${name}`];
  if (found === undefined) throw new ServiceError(422, `${resource} ${namespace}/${name} does not exist`);
  return { metadata: { namespace, name }, ...found } as unknown as KubeObject;
};
const of = (target: object) => materialsOf({ taskRef: { namespace: 'shop' } as RoundSpec['taskRef'], taskSpec: { target } }, get);

describe('materials of a round', () => {
  it('are the TLS files of the secret, of the namespace of the task unless another is named', async () => {
    expect(await of({ tlsSecretName: 'tls' })).toEqual({ tls: { ca: pem('CA'), cert: pem('CERT'), key: pem('KEY') } });
    expect(await of({ tlsSecretName: 'ca', tlsSecretNamespace: 'other' })).toEqual({ tls: { ca: pem('CA') } });
  });

  it('hold the body: one flat JSON object, or the only key named body as it is', async () => {
    const body = async (bodyConfigmapName: string) => Buffer.from((await of({ bodyConfigmapName })).body ?? '', 'base64');
    expect(JSON.parse((await body('flat')).toString())).toEqual({ a: '1', b: 'two' });
    expect((await body('raw')).toString()).toBe('<xml/>');
    expect([...(await body('bytes'))]).toEqual([0, 255]);
  });

  it('say what is missing', async () => {
    await expect(of({ tlsSecretName: 'gone' })).rejects.toThrow('secrets shop/gone does not exist');
    await expect(of({ bodyConfigmapName: 'gone' })).rejects.toThrow('configmaps shop/gone does not exist');
    await expect(of({ tlsSecretName: 'half' })).rejects.toThrow('secret shop/half: the secret must have tls.crt and tls.key together');
  });
});
