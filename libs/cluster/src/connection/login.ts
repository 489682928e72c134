import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import type { Cluster, User } from '@kubernetes/client-node';
import type { Kubeconfig } from './kubeconfig.ts';

/** Certificates and who we are, for one request: tokens that change (of files, of programs) are the current ones. */
export type Login = () => Promise<RequestOptions & { readonly headers: Record<string, string> }>;

/** How a kubeconfig says that the server is to be spoken to. */
export async function loginOf({ cluster, user }: Kubeconfig): Promise<Login> {
  const [{ ExecAuth }, { FileAuth }] = await Promise.all([import('@kubernetes/client-node/dist/exec_auth.js'), import('@kubernetes/client-node/dist/file_auth.js')]);
  const authenticator = user && [new ExecAuth(), new FileAuth()].find((one) => one.isAuthProvider(user));
  if (cluster.proxyUrl || (user?.authProvider && authenticator === undefined)) return wholeLibrary(cluster, user);
  return async () => {
    const headers: Record<string, string> = {};
    const options = { ...(await certificates(cluster, user)), headers };
    if (user === undefined) return options;
    if (user.impersonateUser) headers['Impersonate-User'] = user.impersonateUser;
    // May also set a client certificate.
    await authenticator?.applyAuthentication(user, options);
    if (user.token) headers['Authorization'] = `Bearer ${user.token}`;
    return user.username ? { ...options, auth: `${user.username}:${user.password ?? ''}` } : options;
  };
}

async function certificates(cluster: Cluster, user: User | undefined): Promise<Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'servername' | 'rejectUnauthorized'>> {
  const content = async (file: string | undefined, base64: string | undefined): Promise<Buffer | undefined> => (file ? await readFile(file) : base64 ? Buffer.from(base64, 'base64') : undefined);
  const [ca, cert, key] = await Promise.all([content(cluster.caFile, cluster.caData), content(user?.certFile, user?.certData), content(user?.keyFile, user?.keyData)]);
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(cluster.tlsServerName && { servername: cluster.tlsServerName }),
    ...(cluster.skipTLSVerify && { rejectUnauthorized: false }),
  };
}

/** Proxies and OpenID Connect, and what clouds once had: rare enough to be loaded when they are met. */
async function wholeLibrary(cluster: Cluster, user: User | undefined): Promise<Login> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  // Where there is no TLS it wants to be told that no certificate is looked at.
  const clusters = [{ ...cluster, skipTLSVerify: cluster.skipTLSVerify || cluster.server.startsWith('http:') }];
  config.loadFromOptions({ clusters, users: user === undefined ? [] : [user], contexts: [{ name: 'current', cluster: cluster.name, user: user?.name ?? '' }], currentContext: 'current' });
  return async () => {
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    return { ...options, headers: (options.headers ?? {}) as Record<string, string> };
  };
}
