import type { FindingCode, RoundFinding, TargetResult } from '@roundsman/api';
import { causeOf, type Cause } from './cause.ts';
import { evidenceOf, type Observation } from './observation.ts';

export type Layer = TargetResult['layer'];
export type Family = TargetResult['family'];

/** What a sentence is made with, once it is known which families it is about. */
export interface Words {
  /** ` over IPv6`, ` over IPv4 and IPv6`; empty where only one family was tested. */
  over: string;
  /** `; connections are refused`, or empty. */
  why: string;
  /** The addresses that were asked: `10.96.0.7:80`. */
  at: string;
  cause: Cause | undefined;
}

/** What one family's measurements say. Drafts that say the same of several families become one finding. */
export interface Draft {
  code: FindingCode;
  severity: RoundFinding['severity'];
  subject: string;
  layer: Layer;
  family: Family;
  /** Sentences, with their full stops. */
  say: (words: Words) => string;
  seen: readonly Observation[];
  /** What fails in higher layers because of it, in words: said here, and nowhere else. */
  above: Set<string>;
}

export const draftOf = (draft: Omit<Draft, 'above'>): Draft => ({ ...draft, above: new Set() });

/** Nodes named one by one for the same thing; beyond, one finding counts the rest. */
const maxNodes = 20;

/** The drafts with those about single nodes cut short where they are very many: what a round says does not grow with the cluster. */
export function withFewNodes(drafts: readonly Draft[]): Draft[] {
  const alike = Map.groupBy(drafts.filter(({ subject }) => subject.startsWith('node ')), ({ code, severity, layer, family }) => `${code} ${severity} ${layer} ${family ?? ''}`);
  const cut = new Set<Draft>();
  const more = [...alike.values()].flatMap((all) => {
    const rest = all.slice(maxNodes);
    if (rest.length === 0) return [];
    for (const draft of rest) cut.add(draft);
    const { code, severity, layer, family } = rest[0]!;
    const names = rest.slice(0, maxNodes).map(({ subject }) => subject.slice('node '.length));
    const said = `${names.join(', ')}${rest.length > names.length ? ' and others' : ''}`;
    const merged = draftOf({ code, severity, subject: `${rest.length} more nodes`, layer, family, seen: rest.flatMap(({ seen }) => seen), say: ({ over }) => `${rest.length} more nodes have the same trouble${over}: ${said}.` });
    for (const { above } of rest) for (const what of above) merged.above.add(what);
    return [merged];
  });
  return [...drafts.filter((draft) => !cut.has(draft)), ...more];
}

/** `tested`: the families in which a draft's layer was measured. */
export function findingsOf(drafts: readonly Draft[], tested: (draft: Draft) => readonly Family[]): RoundFinding[] {
  const same = Map.groupBy(drafts, ({ code, subject }) => `${code}\n${subject}`);
  return [...same.values()].map((all) => {
    const { code, severity, subject, layer, say } = all[0]!;
    const seen = all.flatMap((draft) => draft.seen);
    const bad = seen.filter(({ health }) => health !== 'good');
    const measured = tested(all[0]!);
    const concerned = [...new Set(all.map(({ family }) => family))];
    const cause = causeOf(bad);
    const over = measured.length > 1 ? ` over ${concerned.map(familyName).join(' and ')}` : '';
    const message = say({ over, why: cause === undefined ? '' : `; ${cause.text}`, at: addressesOf(bad.length > 0 ? bad : seen), cause });
    const others = measured.filter((family) => !drafts.some((draft) => draft.layer === layer && draft.family === family));
    const elsewhere = others.length === 0 ? '' : ` ${others.map(familyName).join(' and ')} works.`;
    const above = new Set(all.flatMap((draft) => [...draft.above]));
    const higher = above.size === 0 ? '' : ` With it ${above.size === 1 ? 'fails' : 'fail'}: ${[...above].join(', ')}.`;
    const single = measured.length > 1 && concerned.length === 1 ? concerned[0] : undefined;
    return { code, severity, subject, layer, ...(single === undefined ? {} : { family: single }), message: `${message}${elsewhere}${higher}`, evidence: evidenceOf(seen) };
  });
}

const familyName = (family: Family): string => (family === undefined ? 'any family' : `IP${family}`);

/** Addresses named in a sentence. */
const maxAddresses = 3;

function addressesOf(all: readonly Observation[]): string {
  const hosts = [...new Set(all.map(({ result: { address } }) => URL.parse(address)?.host || address))];
  return hosts.length <= maxAddresses ? hosts.join(' and ') : `${hosts.slice(0, maxAddresses).join(', ')} and ${hosts.length - maxAddresses} more`;
}
