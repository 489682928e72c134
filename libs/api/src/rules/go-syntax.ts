import type { LabelSelector } from '../kinds/workload/selector.ts';
import type { Taint } from '../kinds/node/schema.ts';
import { Verbatim } from './causes.ts';

/** Values in error messages as Kubernetes prints them: in the syntax of Go, from which its users know them. */
export const goMap = (map: Readonly<Record<string, string>> = {}): Verbatim => new Verbatim(goMapText(map));

export function goSelector({ matchLabels, matchExpressions }: LabelSelector): Verbatim {
  const type = 'v1.LabelSelectorRequirement';
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }) => `${type}{Key:${JSON.stringify(key)}, Operator:${JSON.stringify(operator)}, Values:${goStrings(values)}}`);
  const list = matchExpressions === undefined ? `[]${type}(nil)` : `[]${type}{${expressions.join(', ')}}`;
  return new Verbatim(`v1.LabelSelector{MatchLabels:${goMapText(matchLabels)}, MatchExpressions:${list}}`);
}

export const goIntOrString = (value: number | string): Verbatim =>
  new Verbatim(`intstr.IntOrString{Type:${typeof value === 'number' ? 0 : 1}, IntVal:${typeof value === 'number' ? value : 0}, StrVal:${JSON.stringify(typeof value === 'number' ? '' : value)}}`);

export const goTaint = ({ key, value = '', effect, timeAdded }: Taint): Verbatim =>
  new Verbatim(`core.Taint{Key:${JSON.stringify(key)}, Value:${JSON.stringify(value)}, Effect:${JSON.stringify(effect)}, TimeAdded:${timeAdded ?? '<nil>'}}`);
export const goList = (values: readonly string[]): Verbatim => new Verbatim(goStrings(values));

const goStrings = (values: readonly string[] | undefined): string => (values === undefined ? '[]string(nil)' : `[]string{${values.map((value) => JSON.stringify(value)).join(', ')}}`);

function goMapText(map: Readonly<Record<string, string>> | undefined): string {
  if (map === undefined || Object.keys(map).length === 0) return 'map[string]string(nil)';
  const pairs = Object.keys(map).sort().map((key) => `${JSON.stringify(key)}:${JSON.stringify(map[key])}`);
  return `map[string]string{${pairs.join(', ')}}`;
}
