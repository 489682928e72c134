import type { Draft, Family } from './draft.ts';
import { judgeMesh, type MeshVerdict } from './mesh.ts';
import type { Observation } from './observation.ts';

/** Interfaces that pods have besides their first (Multus): networks of their own, each a mesh per family. A node that is bad by its pods' own addresses too is said there. */
export function judgeInterfaces(observations: readonly Observation[], pods: ReadonlyMap<Family, MeshVerdict>): Draft[] {
  const groups = Map.groupBy(observations, ({ result }) => JSON.stringify([result.interface, result.family ?? null]));
  return [...groups.values()].flatMap((seen) => {
    const { interface: name, family } = seen[0]!.result;
    const own = pods.get(family) ?? pods.values().next().value;
    const on = ` on interface ${name ?? ''}`;
    const mesh = judgeMesh(seen, on);
    return mesh.drafts.flatMap((draft) => {
      const cause = explanation(draft, mesh, own);
      if (cause === 'said') return [];
      if (cause !== undefined) {
        cause.above.add(`interface ${name ?? ''}`);
        return [];
      }
      return [renamed(draft, name ?? '', own)];
    });
  });
}

/** The finding about the pods' own addresses that this one follows from; `said`: it is there without one of this very name. */
function explanation(draft: Draft, mesh: MeshVerdict, pods: MeshVerdict | undefined): Draft | 'said' | undefined {
  if (pods === undefined) return undefined;
  if (draft === mesh.whole && pods.whole !== undefined) return pods.whole;
  for (const [node, own] of mesh.badDestinations) if (own === draft && pods.badDestinations.has(node)) return pods.badDestinations.get(node);
  for (const [node, own] of mesh.badSources) if (own === draft && pods.badSources.has(node)) return pods.badSources.get(node);
  return pods.drafts.some(({ code, subject }) => code === draft.code && subject === draft.subject) ? 'said' : undefined;
}

function renamed(draft: Draft, name: string, pods: MeshVerdict | undefined): Draft {
  if (draft.severity !== 'critical' || draft.code === 'path-broken' || draft.code === 'target-down') return { ...draft, subject: `${draft.subject} (${name})` };
  const ofNode = draft.subject.startsWith('node ') ? ` of ${draft.subject}` : '';
  const { say } = draft;
  const works = pods === undefined || pods.drafts.length > 0 ? '' : " The pods' own addresses work.";
  return { ...draft, code: 'interface-down', subject: `interface ${name}${ofNode}`, say: (words) => `${say(words)}${works}` };
}
