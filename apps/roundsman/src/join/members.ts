import { agentIdentity, ingressIdentity, runnerIdentity, type Credential } from '@roundsman/bus';
import { z } from 'zod';
import type { Home } from '../home.ts';
import { runnerOf } from '../nodes.ts';
import type { JoinRequest } from './messages.ts';

const memberSchema = z.object({ node: z.string(), agentKey: z.string(), runnerKey: z.string(), ingressKey: z.string().optional(), joinedAt: z.iso.datetime() });
const file = 'keys/members.json';

/** Machines that have joined: their nodes and public keys. */
export function members(home: Home): z.infer<typeof memberSchema>[] {
  const text = home.read(file);
  return text === undefined ? [] : z.array(memberSchema).parse(JSON.parse(text));
}

/** What NATS must know of them. */
export function memberIdentities(home: Home): Omit<Credential, 'seed'>[] {
  return members(home).flatMap(({ node, agentKey, runnerKey, ingressKey }) => [
    { ...agentIdentity(node), publicKey: agentKey },
    { ...runnerIdentity(runnerOf(node), node), publicKey: runnerKey },
    ...(ingressKey === undefined ? [] : [{ ...ingressIdentity(node), publicKey: ingressKey }]),
  ]);
}

/** Why a machine cannot join under this name; undefined when it may: a new name, or the same machine (same keys, the one of its ingress perhaps new) again. */
export function nameProblem(home: Home, { node, agentKey, runnerKey, ingressKey }: JoinRequest, ownNodes: readonly string[]): string | undefined {
  const known = members(home).find((member) => member.node === node);
  const same = known !== undefined && known.agentKey === agentKey && known.runnerKey === runnerKey && (known.ingressKey ?? ingressKey) === ingressKey;
  if (same || (known === undefined && !ownNodes.includes(node))) return undefined;
  return `a node called ${node} is in this cluster already; join under another name (--name), or take the old one out first: npx roundsman forget ${node}`;
}

export function addMember(home: Home, { node, agentKey, runnerKey, ingressKey }: JoinRequest): void {
  const others = members(home).filter((member) => member.node !== node);
  home.write(file, `${JSON.stringify([...others, { node, agentKey, runnerKey, ingressKey, joinedAt: new Date().toISOString() }], undefined, 2)}\n`);
}

/** False when there was none of that name. */
export function removeMember(home: Home, node: string): boolean {
  const before = members(home);
  const left = before.filter((member) => member.node !== node);
  if (left.length === before.length) return false;
  home.write(file, `${JSON.stringify(left, undefined, 2)}\n`);
  return true;
}
