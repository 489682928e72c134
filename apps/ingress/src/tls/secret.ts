import type { KubeObject } from '@roundsman/api';

/** A Secret of type kubernetes.io/tls; its values are base64. */
export type TlsSecret = KubeObject & { readonly data?: Readonly<Record<string, string>> | null };
