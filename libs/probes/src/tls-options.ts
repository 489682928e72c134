import { isIP } from 'node:net';
import { checkServerIdentity, createSecureContext, type ConnectionOptions, type SecureContext } from 'node:tls';
import type { Materials } from '@roundsman/api';

/** With a CA the server is verified against it and its name; without one it is not verified, as kdoctor has it. */
export function tlsOptions(target: { id: string; hasTls: boolean }, materials: Materials, serverName: string): ConnectionOptions {
  const files = target.hasTls ? materials.tls : undefined;
  if (target.hasTls && files === undefined) throw new Error(`target ${target.id}: the round's materials hold no TLS files`);
  let secureContext: SecureContext;
  try {
    secureContext = createSecureContext({ ca: files?.ca, cert: files?.cert, key: files?.key });
  } catch (error) {
    throw new Error(`target ${target.id}: the TLS files cannot be used: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return {
    secureContext,
    rejectUnauthorized: files?.ca !== undefined,
    // An address is no server name (RFC 6066 3), but it is verified all the same.
    servername: isIP(serverName) === 0 ? serverName : '',
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
  };
}
