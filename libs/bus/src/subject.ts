import type { Params } from './bus.ts';

/** The tokens of one subject template, compiled once. */
interface Template {
  readonly tokens: readonly { readonly literal?: string; readonly param?: string }[];
  readonly params: readonly string[];
}

const templates = new Map<string, Template>();
function templateOf(subject: string): Template {
  let template = templates.get(subject);
  if (template === undefined) {
    const tokens = subject.split('.').map((token) => (token.startsWith('{') ? { param: token.slice(1, -1) } : { literal: token }));
    template = { tokens, params: tokens.flatMap((token) => (token.param === undefined ? [] : [token.param])) };
    templates.set(subject, template);
  }
  return template;
}

/** A value that must not become part of a subject. Wrong input, never a reason to retry. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** As long as the longest Kubernetes name. */
const longest = 253;
const letThrough = /^[A-Za-z0-9.-]+$/;

/**
 * One subject token for a Kubernetes name: `.` becomes `_`. Names never hold `_`, so that is reversible; whatever else
 * could widen or split a subject (`*`, `>`, blanks, `_` itself) is refused.
 */
export function encodeToken(value: string | number): string {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) || value < 0) throw new InvalidToken(`${value} cannot be a subject token: not a whole number from 0`);
    return String(value);
  }
  if (value.length > longest) throw new InvalidToken(`a name of ${value.length} characters cannot be a subject token: at most ${longest}`);
  if (!letThrough.test(value)) throw new InvalidToken(`${JSON.stringify(value)} cannot be a subject token: only letters, digits, "-" and "." are let through`);
  return value.includes('.') ? value.replaceAll('.', '_') : value;
}

export const decodeToken = (token: string): string => (token.includes('_') ? token.replaceAll('_', '.') : token);

/**
 * A parameter as its token. Two have rules of their own: an empty `namespace` (cluster-scoped objects) is `-`, and a
 * `kind` is written in lower case (`NetReach` is `netreach`), because people type it.
 */
function tokenOf(param: string, value: string | number): string {
  if (param === 'namespace' && value === '') return '-';
  try {
    return encodeToken(param === 'kind' && typeof value === 'string' ? value.toLowerCase() : value);
  } catch (error) {
    if (error instanceof InvalidToken) throw new InvalidToken(`${param}: ${error.message}`);
    throw error;
  }
}

/** The subject of a message; every parameter must be given. Throws InvalidToken. */
export function subjectOf(message: { readonly subject: string }, params: Params): string {
  return build(message.subject, params, (param) => {
    throw new InvalidToken(`${message.subject} needs ${param}`);
  });
}

/** The subject that matches every message with these parameters; those left out match anything. Throws InvalidToken. */
export function filterOf(message: { readonly subject: string }, params: Params = {}): string {
  return build(message.subject, params, () => '*');
}

function build(subject: string, params: Params, missing: (param: string) => string): string {
  const template = templateOf(subject);
  for (const given of Object.keys(params)) {
    if (!template.params.includes(given)) throw new InvalidToken(`${subject} has no ${given}`);
  }
  let built = '';
  for (const { literal, param } of template.tokens) {
    if (built !== '') built += '.';
    if (param === undefined) {
      built += literal;
      continue;
    }
    const value = params[param];
    built += value === undefined ? missing(param) : tokenOf(param, value);
  }
  return built;
}

/**
 * The parameters of a subject, decoded: `_` is `.` again, namespace `-` is empty, a kind stays in lower case.
 * Throws InvalidToken when the subject is not one of this message.
 */
export function paramsOf(message: { readonly subject: string }, subject: string): Record<string, string> {
  const { tokens } = templateOf(message.subject);
  const given = subject.split('.');
  const params: Record<string, string> = {};
  if (given.length !== tokens.length) throw new InvalidToken(`${subject} is not a ${message.subject}`);
  for (const [index, { literal, param }] of tokens.entries()) {
    const token = given[index] ?? '';
    if (param !== undefined) params[param] = param === 'namespace' && token === '-' ? '' : decodeToken(token);
    else if (token !== literal) throw new InvalidToken(`${subject} is not a ${message.subject}`);
  }
  return params;
}
