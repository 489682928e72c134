import type { Cause } from './kind.ts';

/** Why a request was refused; the closed list of the product, as Kubernetes names them, with their HTTP status. */
export const statusCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
  ServiceUnavailable: 503,
  Timeout: 504,
} as const;
export type StatusReason = keyof typeof statusCodes;

/** One entry of `details.causes`; field managers in conflict are told as causes too. */
export interface StatusCause {
  readonly reason: Cause['reason'] | 'FieldManagerConflict' | 'UnexpectedServerResponse' | 'DisruptionBudget';
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** The answer to a request that was refused, as kubectl reads it. */
export interface StatusObject {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: Record<string, never>;
  status: 'Failure';
  message: string;
  reason: StatusReason;
  details?: StatusDetails;
  code: number;
}

/** A refused request: thrown where it is found out, answered as its `status`. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: StatusObject;

  constructor(reason: StatusReason, message: string, details?: StatusDetails) {
    super(message);
    this.status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, ...(details && { details }), code: statusCodes[reason] };
  }

  get code(): number {
    return this.status.code;
  }
}

/** What the message is about: a resource by plural and group. */
interface Resource {
  readonly plural: string;
  readonly group: string;
}
interface Named extends Resource {
  readonly kind: string;
}

/** `netreaches.roundsman.io "x"`, `configmaps "x"`. */
const quoted = ({ plural, group }: Resource, name: string): string => `${group === '' ? plural : `${plural}.${group}`} "${name}"`;
const about = ({ plural, group }: Resource, name: string): StatusDetails => ({ name, ...(group !== '' && { group }), kind: plural });

export const notFound = (resource: Resource, name: string): ApiError => new ApiError('NotFound', `${quoted(resource, name)} not found`, about(resource, name));

export const alreadyExists = (resource: Resource, name: string): ApiError =>
  new ApiError('AlreadyExists', `${quoted(resource, name)} already exists`, about(resource, name));

export const conflict = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError('Conflict', `Operation cannot be fulfilled on ${quoted(resource, name)}: ${why}`, about(resource, name));

/** The write was based on an older version of the object. */
export const modified = (resource: Resource, name: string): ApiError =>
  conflict(resource, name, 'the object has been modified; please apply your changes to the latest version and try again');

export const forbidden = (resource: Resource, name: string, why: string): ApiError =>
  new ApiError('Forbidden', `${quoted(resource, name)} is forbidden: ${why}`, about(resource, name));

export const badRequest = (message: string): ApiError => new ApiError('BadRequest', message);

/** The object breaks rules; one cause per field. */
export function invalid(kind: Named, name: string, causes: readonly Cause[]): ApiError {
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const list = lines.length === 1 ? lines[0]! : `[${lines.join(', ')}]`;
  const subject = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  return new ApiError('Invalid', `${subject} "${name}" is invalid: ${list}`, {
    name,
    ...(kind.group !== '' && { group: kind.group }),
    kind: kind.kind,
    causes: causes.map(({ reason, message, field }) => ({ reason, message, field })),
  });
}

/** History before the asked version is gone: list again. */
export const expired = (asked: number, oldest: number): ApiError => new ApiError('Expired', `too old resource version: ${asked} (${oldest})`);

export const serviceUnavailable = (message: string, retryAfterSeconds = 1): ApiError => new ApiError('ServiceUnavailable', message, { retryAfterSeconds });
