import { splitHeader, type AppHttpHealthySpec, type HttpTarget } from '@roundsman/api';
import { echoConnect } from './echo.ts';
import type { Peer } from './facts.ts';

/** The service that an AppHttpHealthy names. */
export function appHttp({ target }: AppHttpHealthySpec, echo: Peer | undefined): HttpTarget {
  const url = /^https?:\/\//i.test(target.host) ? target.host : `http://${target.host}`;
  const connect = echoConnect(target.host, echo);
  return {
    id: 'url',
    layer: 'url',
    probe: 'http',
    url,
    method: target.method,
    // Admission has refused lines that are no header.
    headers: (target.header ?? []).map(splitHeader).flatMap((header): [string, string][] => (typeof header === 'string' ? [] : [[header[0], header[1]]])),
    http2: target.http2,
    hasBody: target.bodyConfigmapName !== undefined,
    hasTls: target.tlsSecretName !== undefined,
    ...(connect === undefined ? {} : { connect }),
  };
}
