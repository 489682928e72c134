import { isDeepStrictEqual } from 'node:util';
import { overlaps, parseCidr, type Cidr } from '../cluster-network.ts';
import type { AdmissionContext, Cause } from '../kind.ts';
import type { Node, Taint } from '../kinds/node/schema.ts';
import type { KubeObject } from '../meta.ts';
import { labelValueProblem, qualifiedNameProblem } from '../names.ts';
import { forbiddenField, invalidValue, named, notSupported, required, type Findings } from './causes.ts';
import { goTaint } from './go-syntax.ts';

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function nodeRules(object: KubeObject, { old, list }: Pick<AdmissionContext, 'old' | 'list'>): Findings {
  const { spec, status } = object as Node;
  const before = (old as Node | undefined)?.spec;
  // They stand below `spec`, but this is where Kubernetes says they are.
  const causes = taintCauses(spec?.taints ?? [], 'metadata.taints');
  if ((before?.podCIDRs ?? []).length > 0 && (!isDeepStrictEqual(before?.podCIDRs, spec?.podCIDRs) || before?.podCIDR !== spec?.podCIDR)) causes.push(forbiddenField('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  if ((before?.providerID ?? '') !== '' && before?.providerID !== spec?.providerID) causes.push(forbiddenField('spec.providerID', 'node updates may not change providerID except from "" to valid'));
  else if (!isDeepStrictEqual(before?.podCIDRs, spec?.podCIDRs)) causes.push(...podCidrCauses(object as Node, list));
  for (const member of ['capacity', 'allocatable'] as const) {
    for (const [name, amount] of Object.entries(status?.[member] ?? {})) if (amount.startsWith('-')) causes.push(invalidValue(`status.${member}.${name}`, amount, 'must be greater than or equal to 0'));
  }
  return { causes, warnings: [] };
}

/** No two nodes have an address in common, whoever gives them out. */
function podCidrCauses({ metadata, spec }: Node, list: AdmissionContext['list']): Cause[] {
  const texts = spec?.podCIDRs ?? [];
  const others = texts.length === 0 ? [] : (list('nodes') as readonly Node[]).filter((node) => node.metadata.name !== metadata.name);
  return texts.flatMap((text, index) => {
    const at = `spec.podCIDRs[${index}]`;
    const own = rangeOf(text);
    if (own === undefined) return [invalidValue(at, text, 'must be a valid CIDR value, such as 10.244.1.0/24')];
    const other = others.find((node) => (node.spec.podCIDRs ?? []).flatMap((its) => rangeOf(its) ?? []).some((its) => overlaps(its, own)));
    return other === undefined ? [] : [invalidValue(at, text, `overlaps with ${(other.spec.podCIDRs ?? []).join(', ')} of node ${other.metadata.name}`)];
  });
}

function rangeOf(text: string): Cidr | undefined {
  try {
    return parseCidr(text);
  } catch {
    return undefined;
  }
}

function taintCauses(taints: readonly Taint[], field: string): Cause[] {
  const seen = new Set<string>();
  return taints.flatMap((taint, index) => {
    const at = `${field}[${index}]`;
    const { key, value = '', effect } = taint;
    const causes = [...named(`${at}.key`, key, qualifiedNameProblem(key)), ...named(`${at}.value`, value, labelValueProblem(value))];
    if ((effect as string) === '') causes.push(required(`${at}.effect`, ''));
    else if (!effects.includes(effect)) causes.push(notSupported(`${at}.effect`, effect, effects.toSorted()));
    const pair = `${key}:${effect}`;
    if (seen.has(pair)) causes.push({ field: at, reason: 'FieldValueDuplicate', message: `Duplicate value: ${goTaint(taint).text}: taints must be unique by key and effect pair` });
    seen.add(pair);
    return causes;
  });
}
