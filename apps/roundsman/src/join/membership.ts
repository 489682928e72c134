import { hostname } from 'node:os';
import { agentIdentity, createCredential, ingressIdentity, loadIdentities, runnerIdentity, saveIdentities, type Credential, type Identity } from '@roundsman/bus';
import { z } from 'zod';
import type { Home } from '../home.ts';
import { runnerOf } from '../nodes.ts';
import { UserError } from '../user-error.ts';
import { authorityOf, join } from './join-client.ts';
import { joinReplySchema, joinRequestSchema } from './messages.ts';
import { parseToken } from './token.ts';

const membershipSchema = joinReplySchema.extend({ node: z.string(), at: z.string() });
/** What a machine that has joined knows of its cluster; `at` is `host:port` where it did. */
export type Membership = z.infer<typeof membershipSchema>;

const file = 'member.json';
export const authorityFile = (home: Home): string => home.file('keys', 'cluster-ca.crt');

/** Undefined: this home never joined anything. */
export function membershipOf(home: Home): Membership | undefined {
  const text = home.read(file);
  return text === undefined ? undefined : membershipSchema.parse(JSON.parse(text));
}

/** A Kubernetes name from the name of the machine. */
export const machineName = (): string => hostname().split('.')[0]!.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-').replaceAll(/^-+|-+$/g, '').slice(0, 63) || 'node';

/** Joins the cluster that answers at `at` with a token; kept in the home, so that later starts need neither. Doing it again is fine. */
export async function joinCluster(home: Home, at: string, tokenText: string, node: string): Promise<Membership> {
  const token = parseToken(tokenText);
  if (token === undefined) throw new UserError('that is not a token for joining', 'npx roundsman token prints the whole command, on the machine where the cluster was started.', { exitCode: 2 });
  const name = joinRequestSchema.shape.node.safeParse(node);
  if (!name.success) throw new UserError(`${node} cannot be the name of a node: it ${name.error.issues[0]?.message ?? 'is none'}`, 'Give another with --name.', { exitCode: 2 });
  const { host, port } = addressOf(at);
  const ca = await authorityOf(host, port, token);
  const [agent, runner, ingress] = await keysOf(home, [agentIdentity(node), runnerIdentity(runnerOf(node), node), ingressIdentity(node)]);
  const reply = await join(host, port, ca, token, { node, agentKey: agent!.publicKey, runnerKey: runner!.publicKey, ingressKey: ingress!.publicKey });
  home.write('keys/cluster-ca.crt', ca);
  const membership = { ...reply, node, at };
  home.write(file, `${JSON.stringify(membership, undefined, 2)}\n`);
  return membership;
}

function addressOf(at: string): { host: string; port: number } {
  const url = URL.parse(`https://${at}`);
  if (url === null || url.port === '' || url.pathname !== '/') throw new UserError(`${at} is not host:port`, 'npx roundsman token prints the whole command, on the machine where the cluster was started.', { exitCode: 2 });
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) };
}

/** Keys of these identities, made once. */
async function keysOf(home: Home, wanted: readonly Identity[]): Promise<Credential[]> {
  const folder = home.file('keys');
  const have = new Map((await loadIdentities(folder)).map((one) => [one.name, one]));
  const all = wanted.map((identity) => have.get(identity.name) ?? createCredential(identity));
  await saveIdentities(folder, all);
  return all;
}
