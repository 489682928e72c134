import type { ProbeErrorCode } from '@roundsman/api';

/** Why one exchange failed: a code of the closed list and one sentence. Data, not thrown on the wire path. */
export interface ProbeFailure {
  code: ProbeErrorCode;
  message: string;
}

/** A failure on the way to results: thrown by set-up steps (resolving, policy) and turned into a result by the round. */
export class ProbeError extends Error implements ProbeFailure {
  override name = 'ProbeError';
  readonly code: ProbeErrorCode;

  constructor(code: ProbeErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

const byErrno: Record<string, ProbeErrorCode> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNABORTED: 'reset',
  EHOSTUNREACH: 'unreachable',
  ENETUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
  ENETDOWN: 'unreachable',
  EAFNOSUPPORT: 'unreachable',
  ETIMEDOUT: 'connect-timeout',
  ENOTFOUND: 'unresolved',
  EAI_AGAIN: 'unresolved',
  EMFILE: 'local',
  ENFILE: 'local',
  ENOBUFS: 'local',
  ENOMEM: 'local',
  EADDRINUSE: 'local',
  EADDRNOTAVAIL: 'local',
  EACCES: 'local',
  EPERM: 'local',
  EPROTO: 'tls',
};

/** Errors of certificate checking carry OpenSSL's names (X509_V_ERR_ without the prefix) as their code. */
const certificateError = /^(CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_CERT|CRL_|INVALID_(CA|PURPOSE)|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_SSL_|ERR_TLS_|ERR_OSSL_)/;

/** Classifies an error event of a socket. `stage` says what was going on when it came. */
export function classify(error: NodeJS.ErrnoException, stage: 'connect' | 'tls' | 'exchange'): ProbeFailure {
  const errno = error.code ?? '';
  const message = clip(sentence(error.message || errno || 'unknown error'));
  if (stage === 'tls') {
    // Which of the two depends on whether this side had read that the server is done before it wrote.
    if (errno === 'ECONNRESET' || errno === 'EPIPE') return { code: 'tls', message: 'the server closed the connection during the TLS handshake' };
    return { code: byErrno[errno] ?? 'tls', message };
  }
  const code = byErrno[errno] ?? (certificateError.test(errno) ? 'tls' : 'local');
  return { code, message: errno === 'EPIPE' ? 'the server closed the connection (EPIPE)' : message };
}

/** OpenSSL's `…:error:0A00010B:SSL routines::wrong version number:../deps/…:` as its reason alone, and in words where it is plain. */
function sentence(message: string): string {
  const reason = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+):/.exec(message)?.[1];
  if (reason === undefined) return message.trim();
  return notTls.has(reason) ? `what answers is not TLS (${reason}): is it a plain http:// port?` : reason;
}

const notTls = new Set(['wrong version number', 'packet length too long', 'http request', 'record layer failure']);

/** The length a failure's message may have in a result. */
export function clip(message: string): string {
  return message.length > 500 ? `${message.slice(0, 497)}...` : message;
}
