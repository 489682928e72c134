import { ApiError, statusCodes, type StatusObject, type StatusReason } from '@roundsman/api';
import { ServiceError, Unreachable } from '@roundsman/bus';

/** A `Status` of the product, or one that another service sent. */
export type AnyStatus = Omit<StatusObject, 'reason' | 'details'> & { reason?: string; details?: StatusObject['details'] };

/** What a client is told about an error. `unexpected` ones are ours to look at: they are logged whole and told in general. */
export interface Refusal {
  readonly status: AnyStatus;
  readonly headers: Record<string, string>;
  readonly unexpected: boolean;
}

export function refusalOf(error: unknown): Refusal {
  if (error instanceof ApiError) return { status: error.status, headers: retryHeader(error.status), unexpected: false };
  if (error instanceof ServiceError) {
    const status = statusOf(error);
    // Only where trying again is what is meant (a disruption budget that is not ready): kubectl does so in silence.
    return { status, headers: status.code === 429 ? retryHeader(status) : {}, unexpected: error.code >= 500 && !isStatus(error.body) };
  }
  if (error instanceof Unreachable) return unreachable(error);
  if (isDatabaseOutage(error)) {
    // No Retry-After: kubectl would try ten times in silence before it says anything.
    return { status: new ApiError('ServiceUnavailable', 'the database cannot be reached; nothing was changed, try again').status, headers: {}, unexpected: true };
  }
  return { status: new ApiError('InternalError', 'an unexpected error in the gateway; its log has the details').status, headers: {}, unexpected: true };
}

/**
 * Nobody took the request: nothing was changed, and trying again is safe (Retry-After, which kubectl follows by itself).
 * No answer in time: it may have been committed, and the client must look before it tries again.
 */
function unreachable(error: Unreachable): Refusal {
  if (error.notSent) {
    const status = new ApiError('ServiceUnavailable', `the service that stores objects is not running; nothing was changed (${error.message})`, { retryAfterSeconds: 1 }).status;
    return { status, headers: retryHeader(status), unexpected: false };
  }
  return { status: new ApiError('Timeout', `no answer in time: it is not known whether the change was stored; read the object before you try again (${error.message})`).status, headers: {}, unexpected: false };
}

const retryHeader = (status: AnyStatus): Record<string, string> => (status.details?.retryAfterSeconds === undefined ? {} : { 'retry-after': String(status.details.retryAfterSeconds) });

const isStatus = (body: unknown): body is AnyStatus => typeof body === 'object' && body !== null && (body as { kind?: unknown }).kind === 'Status';

function statusOf(error: ServiceError): AnyStatus {
  if (isStatus(error.body)) return error.body;
  const code = error.code >= 400 && error.code <= 599 ? error.code : 500;
  const reason = (Object.keys(statusCodes) as StatusReason[]).find((one) => statusCodes[one] === code);
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: error.message, ...(reason === undefined ? {} : { reason }), code };
}

/** Socket errors, and the SQLSTATE classes of a server that goes, comes or is full. */
function isDatabaseOutage(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  if (error instanceof Error && /Connection terminated|timeout exceeded when trying to connect|Query read timeout/.test(error.message)) return true;
  return typeof code === 'string' && (/^(08|53|57P)/.test(code) || ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT'].includes(code));
}
