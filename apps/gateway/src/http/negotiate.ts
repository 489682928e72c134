import { ApiError } from '@roundsman/api';

/** In which form a client wants an answer. */
export interface Accepted {
  readonly format: 'json' | 'yaml';
  /** Rows for `kubectl get` instead of objects. */
  readonly table: 'v1' | 'v1beta1' | undefined;
  /** All groups in one answer of /api and /apis. */
  readonly discovery: 'v2' | 'v2beta1' | undefined;
}

/**
 * The first alternative of an Accept header that can be served. JSON is served to whoever also takes it (every kubectl client
 * that prefers protobuf does); 406 when nothing fits.
 */
export function negotiate(header: string | undefined): Accepted {
  const plain: Accepted = { format: 'json', table: undefined, discovery: undefined };
  if (header === undefined || header.trim() === '') return plain;
  for (const alternative of header.split(',')) {
    const [type = '', ...rest] = alternative.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => part.split('=', 2).map((side) => side.trim()) as [string, string]));
    if (Number(parameters.get('q') ?? 1) === 0) continue;
    const json = type === 'application/json' || type === '*/*' || type === 'application/*';
    if (!json && type !== 'application/yaml') continue;
    const as = parameters.get('as');
    const version = parameters.get('v');
    if (as === 'Table') {
      if (parameters.get('g') !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) continue;
      return { ...plain, table: version };
    }
    if (as === 'APIGroupDiscoveryList') {
      if (parameters.get('g') !== 'apidiscovery.k8s.io' || (version !== 'v2' && version !== 'v2beta1')) continue;
      return { ...plain, discovery: version };
    }
    if (as !== undefined) continue;
    return json ? plain : { ...plain, format: 'yaml' };
  }
  throw new ApiError('NotAcceptable', `none of the accepted media types can be served (${header}); application/json and application/yaml can`);
}
