import { valueAt } from './columns.ts';
import { badRequest } from './errors.ts';
import type { Kind } from './kind.ts';
import type { KubeObject } from './meta.ts';
import { labelValueProblem, qualifiedNameProblem } from './names.ts';

export type Labels = Readonly<Record<string, string>>;

/** One requirement on labels: `in` with one value is `=`; `notin` also holds where the key is absent. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent';
  readonly values: readonly string[];
}

const unparsable = (selector: string, why: string): never => {
  throw badRequest(`unable to parse requirement: ${why} (selector ${JSON.stringify(selector)})`);
};

/** Reads a label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k`. Throws a 400 when it cannot be read; empty selects all. */
export function parseLabelSelector(selector: string): LabelRequirement[] {
  return splitOutsideParentheses(selector).map((part) => requirementOf(part.trim(), selector));
}

function splitOutsideParentheses(selector: string): string[] {
  if (selector.trim() === '') return [];
  return selector.split(/,(?![^(]*\))/);
}

function requirementOf(part: string, selector: string): LabelRequirement {
  const set = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(part);
  const equal = /^([^=!\s]+)\s*(==|=|!=)\s*([^=!]*)$/.exec(part);
  let requirement: LabelRequirement;
  if (set !== null) requirement = { key: set[1]!, operator: set[2] as 'in' | 'notin', values: set[3]!.split(',').map((value) => value.trim()) };
  else if (equal !== null) requirement = { key: equal[1]!, operator: equal[2] === '!=' ? 'notin' : 'in', values: [equal[3]!.trim()] };
  else if (/^!\s*[^\s!=(),]+$/.test(part)) requirement = { key: part.slice(1).trim(), operator: 'absent', values: [] };
  else if (/^[^\s!=(),]+$/.test(part)) requirement = { key: part, operator: 'exists', values: [] };
  else return unparsable(selector, `"${part}" is not a requirement`);
  const wrong = qualifiedNameProblem(requirement.key) ?? requirement.values.map(labelValueProblem).find((problem) => problem !== undefined);
  return wrong === undefined ? requirement : unparsable(selector, wrong);
}

export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels | undefined): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === 'exists') return value !== undefined;
    if (operator === 'absent') return value === undefined;
    return operator === 'in' ? value !== undefined && values.includes(value) : value === undefined || !values.includes(value);
  });
}

/** A selector as objects hold it (`spec.selector` of a Deployment); all of it must hold, an empty one selects everything. */
export interface ObjectSelector {
  readonly matchLabels?: Labels | undefined;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[] | undefined;
}

const operators: Readonly<Record<string, LabelRequirement['operator']>> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' };

/** Throws for an operator that does not exist: admission has refused it. */
export function requirementsOf({ matchLabels = {}, matchExpressions = [] }: ObjectSelector): LabelRequirement[] {
  const equal = Object.entries(matchLabels).map(([key, value]): LabelRequirement => ({ key, operator: 'in', values: [value] }));
  const others = matchExpressions.map(({ key, operator, values = [] }): LabelRequirement => {
    const known = operators[operator];
    if (known === undefined) throw new Error(`${JSON.stringify(operator)} is not a valid label selector operator`);
    return { key, operator: known, values };
  });
  return [...equal, ...others];
}

/** One requirement on a field, by its path in the object. */
export interface FieldRequirement {
  readonly path: string;
  readonly equal: boolean;
  readonly value: string;
}

/** Reads a field selector: `metadata.name=x,status.phase!=y`. Throws a 400 for a field the kind cannot be selected by. */
export function parseFieldSelector(selector: string, kind: Pick<Kind, 'fieldSelectors' | 'namespaced'>): FieldRequirement[] {
  if (selector.trim() === '') return [];
  return selector.split(/(?<!\\),/).map((part) => {
    const match = /^\s*([^=!\s]+)\s*(==|=|!=)\s*(.*)$/s.exec(part);
    if (match === null) throw badRequest(`invalid field selector: ${JSON.stringify(part)} is not a requirement such as metadata.name=x`);
    const path = match[1]!;
    const known = path === 'metadata.name' || path === 'metadata.namespace' || kind.fieldSelectors.includes(path);
    if (!known) throw badRequest(`field label not supported: ${path}`);
    return { path, equal: match[2] !== '!=', value: match[3]!.trim().replaceAll(/\\([\\,=])/g, '$1') };
  });
}

/** Absent fields count as empty, absent flags as false, as in Kubernetes. */
export function matchesFields(requirements: readonly FieldRequirement[], object: KubeObject): boolean {
  return requirements.every(({ path, equal, value }) => {
    const found = valueAt(object, ...path.split('.'));
    const absent = value === 'true' || value === 'false' ? 'false' : '';
    const text = found === undefined || found === null ? absent : typeof found === 'object' ? JSON.stringify(found) : String(found as string | number | boolean);
    return (text === value) === equal;
  });
}
