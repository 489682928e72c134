import { bodyOf, isOpenRound, tlsKeys, tlsSecretProblem, type KubeObject, type Materials, type RoundSpec } from '@roundsman/api';
import { endpoint, messages, ServiceError, type Endpoint } from '@roundsman/bus';
import type { Caches } from './caches.ts';

type Get = (resource: string, namespace: string, name: string) => Promise<KubeObject>;

interface MaterialNames {
  readonly tlsSecretName?: string;
  readonly tlsSecretNamespace?: string;
  readonly bodyConfigmapName?: string;
  readonly bodyConfigmapNamespace?: string;
}

/** TLS files and the body of a round, only for a runner that is expected in it while it is open. */
export function materialsEndpoint(caches: Caches): Endpoint<never, unknown> {
  const get: Get = async (resource, namespace, name) => {
    const object = await caches.reader.get(resource, namespace, name);
    if (object === undefined) throw new ServiceError(422, `${resource.slice(0, -1)} ${namespace}/${name} does not exist`);
    return object;
  };
  return endpoint(messages.materials, async ({ taskUid, round: number }, { runner = '' }) => {
    const round = caches.roundsOf(taskUid).find(({ spec }) => spec.number === number);
    // A standby's cache may be a moment behind the work: ask again.
    if (round === undefined) throw new ServiceError(503, `round ${number} of task ${taskUid} is not known here`);
    if (!isOpenRound(round) || round.spec.cancel === true) throw new ServiceError(410, `round ${number} of task ${taskUid} is over`);
    if (!round.spec.runners.some((expected) => expected.runner === runner)) throw new ServiceError(403, `runner ${runner} is not expected in round ${number} of task ${taskUid}`);
    return materialsOf(round.spec, get);
  });
}

export async function materialsOf({ taskRef, taskSpec }: Pick<RoundSpec, 'taskRef' | 'taskSpec'>, get: Get): Promise<Materials> {
  const { tlsSecretName, tlsSecretNamespace, bodyConfigmapName, bodyConfigmapNamespace } = (taskSpec['target'] ?? {}) as MaterialNames;
  const materials: Materials = {};
  if (tlsSecretName !== undefined) {
    const secret = await get('secrets', tlsSecretNamespace ?? taskRef.namespace, tlsSecretName);
    const problem = tlsSecretProblem(secret);
    if (problem !== undefined) throw new ServiceError(422, `secret ${secret.metadata.namespace}/${secret.metadata.name}: ${problem}`);
    const { data = {} } = secret as unknown as { data?: Record<string, string> };
    const [ca, cert, key] = tlsKeys.map((name) => (data[name] === undefined ? undefined : Buffer.from(data[name], 'base64').toString('utf8')));
    materials.tls = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }), ...(key === undefined ? {} : { key }) };
  }
  if (bodyConfigmapName !== undefined) materials.body = encodedBody(await get('configmaps', bodyConfigmapNamespace ?? taskRef.namespace, bodyConfigmapName));
  return materials;
}

/** Base64. One key named `body`, in data or binaryData, is sent as it is; otherwise data as one flat JSON object, as kdoctor has it. */
function encodedBody(configMap: KubeObject): string {
  const { data = {}, binaryData = {} } = configMap as unknown as { data?: Record<string, string>; binaryData?: Record<string, string> };
  if (Object.keys(data).length + Object.keys(binaryData).length === 1) {
    if (data['body'] !== undefined) return Buffer.from(data['body']).toString('base64');
    if (binaryData['body'] !== undefined) return binaryData['body'];
  }
  return Buffer.from(bodyOf(configMap)).toString('base64');
}
