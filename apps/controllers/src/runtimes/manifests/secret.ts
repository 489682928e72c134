import { randomBytes } from 'node:crypto';
import { runnerImage } from '@roundsman/api';
import type { Manifest, RuntimeFacts } from './facts.ts';
import { labelsOf } from './labels.ts';

/** What the runners of a runtime say to NATS: nobody can guess it. */
export const newToken = (): string => randomBytes(32).toString('base64url');

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Made before the workload, whose pods wait for it. `owner`: of its task. */
export const secretOf = ({ runtime, token, natsCa, installation }: RuntimeFacts, owner: object | undefined): Manifest => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: runtime.spec.workload, namespace: runtime.metadata.namespace ?? '', labels: labelsOf(runtime, installation), ...(owner === undefined ? {} : { ownerReferences: [owner] }) },
  type: 'Opaque',
  data: { [runnerImage.tokenKey]: base64(token), ...(natsCa === undefined ? {} : { [runnerImage.caKey]: base64(natsCa) }) },
});

/** The token in a Secret that is there; undefined when it holds none. */
export function tokenOf(secret: { readonly data?: Readonly<Record<string, string>> } | undefined): string | undefined {
  const encoded = secret?.data?.[runnerImage.tokenKey];
  return encoded === undefined || encoded === '' ? undefined : Buffer.from(encoded, 'base64').toString('utf8');
}
