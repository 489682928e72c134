import { isIPv6 } from 'node:net';
import { isAbsolute, join } from 'node:path';
import type { Cluster, User } from '@kubernetes/client-node';

/** The server and the user of a kubeconfig's current context; paths in it are absolute. */
export interface Kubeconfig {
  readonly cluster: Cluster;
  readonly user: User | undefined;
}

interface File {
  readonly clusters?: unknown;
  readonly contexts?: unknown;
  readonly users?: readonly { readonly name?: string; readonly user?: Readonly<Record<string, unknown>> }[];
  readonly 'current-context'?: string;
}

/** Of the text of a file; `folder`: what its paths are relative to. Throws when it names no server. */
export async function parseKubeconfig(text: string, folder: string): Promise<Kubeconfig> {
  // Not the whole library, which takes 88 MiB for its generated classes.
  const [{ newClusters, newContexts, newUsers }, { parse }] = await Promise.all([import('@kubernetes/client-node/dist/config_types.js'), import('yaml')]);
  const file = (parse(text) ?? {}) as File;
  const users = (file.users ?? []).map((entry) => ({ ...entry, user: withTokenFile(entry.user ?? {}, folder) }));
  const context = newContexts(file.contexts).find(({ name }) => name === file['current-context']);
  const cluster = newClusters(file.clusters).find(({ name }) => name === context?.cluster);
  if (cluster === undefined) throw new Error('it has no cluster in its current context');
  const user = newUsers(users).find(({ name }) => name === context?.user);
  return { cluster: absolute(cluster, folder, ['caFile']), user: user === undefined ? undefined : absolute(user, folder, ['certFile', 'keyFile']) };
}

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The service account that Kubernetes gives to a pod. Its token changes; its file is read again every minute. */
export function inClusterKubeconfig(env: NodeJS.ProcessEnv): Kubeconfig {
  const host = env['KUBERNETES_SERVICE_HOST'];
  if (!host) throw new Error('the kubeconfig is said to be in-cluster, but this process runs in no pod of Kubernetes (KUBERNETES_SERVICE_HOST is not set)');
  return {
    cluster: { name: 'in-cluster', server: `https://${isIPv6(host) ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] || 443}`, caFile: `${accountFolder}/ca.crt`, skipTLSVerify: false },
    user: { name: 'in-cluster', authProvider: tokenFrom(`${accountFolder}/token`) },
  };
}

/** As the library calls a user whose token is in a file. */
const tokenFrom = (tokenFile: string): object => ({ name: 'tokenFile', config: { tokenFile } });

/** The library would read the file once and for all. */
function withTokenFile({ token, 'token-file': file, tokenFile = file, ...user }: Readonly<Record<string, unknown>>, folder: string): Record<string, unknown> {
  if (typeof tokenFile !== 'string' || tokenFile === '') return { ...user, ...(token === undefined ? {} : { token }) };
  return { ...user, 'auth-provider': tokenFrom(isAbsolute(tokenFile) ? tokenFile : join(folder, tokenFile)) };
}

function absolute<T extends object>(of: T, folder: string, members: readonly (keyof T)[]): T {
  const paths = members.flatMap((member) => (of[member] ? [[member, isAbsolute(String(of[member])) ? of[member] : join(folder, String(of[member]))]] : []));
  return { ...of, ...Object.fromEntries(paths) };
}
