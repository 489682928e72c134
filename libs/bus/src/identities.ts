import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createAccount, createUser, fromSeed } from '@nats-io/nkeys';
import { z } from 'zod';
import { encodeToken } from './subject.ts';

/** The services that have one identity each, however many instances run. */
export const serviceRoles = ['intake', 'gateway', 'scheduler', 'controllers', 'reporter'] as const;
export const roles = [...serviceRoles, 'agent', 'runner', 'ingress', 'operator'] as const;
export type Role = (typeof roles)[number];

/**
 * Who somebody is on NATS; permissions follow from this and nothing else. `operator` is the person with the `nats`
 * program. `node` and `runner` are Kubernetes names. `task`: the only one that this runner ever works for; absent where it may be any.
 */
export type Identity = { readonly name: string; readonly role: Role; readonly node?: string; readonly runner?: string; readonly task?: { readonly kind: string; readonly uid: string } };

/** An identity with its nkey seed: a secret. */
export type Credential = Identity & { readonly seed: string; readonly publicKey: string };

export const serviceIdentity = (role: (typeof serviceRoles)[number] | 'operator'): Identity => ({ name: role, role });
export const agentIdentity = (node: string): Identity => ({ name: `agent-${node}`, role: 'agent', node });
export const runnerIdentity = (runner: string, node: string, task?: Identity['task']): Identity => ({ name: `runner-${runner}`, role: 'runner', node, runner, ...(task === undefined ? {} : { task }) });

/** The ingress proxy that the agent of a node keeps. */
export const ingressIdentity = (node: string): Identity => ({ name: `ingress-${node}`, role: 'ingress', node });

/** Whom a service names as the user of its own writes. The gateway names the person who asked, and no person is called like this. */
export const serviceUser = (role: (typeof serviceRoles)[number]): string => `system:roundsman:${role}`;

/** A new nkey for an identity. */
export function createCredential(identity: Identity): Credential {
  // Refuses a name that could not be a subject token before anything is built on it.
  encodeToken(identity.name);
  const user = createUser();
  return { ...identity, seed: new TextDecoder().decode(user.getSeed()), publicKey: user.getPublicKey() };
}

/** A new account nkey: `renderServerConfig` is given its public key, whoever answers log-ins (`answerLogins`) its seed, a secret that lets in anybody. */
export function createIssuer(): { seed: string; publicKey: string } {
  const issuer = createAccount();
  return { seed: new TextDecoder().decode(issuer.getSeed()), publicKey: issuer.getPublicKey() };
}

const indexSchema = z.array(z.object({ name: z.string(), role: z.enum(roles), node: z.string().optional(), runner: z.string().optional() }));
const indexFile = 'identities.json';
const seedFile = (name: string): string => `${encodeToken(name).replaceAll('_', '.')}.nk`;

/**
 * Writes one `<name>.nk` per identity (the seed, as `nats --nkey` wants it, mode 0600) and `identities.json`, which
 * names them. Files of other identities in the directory stay.
 */
export async function saveIdentities(directory: string, credentials: readonly Credential[]): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const { name, seed } of credentials) await writePrivate(join(directory, seedFile(name)), `${seed}\n`);
  const index = credentials.map(({ name, role, node, runner }) => ({ name, role, node, runner }));
  await writePrivate(join(directory, indexFile), `${JSON.stringify(index, undefined, 2)}\n`);
}

/** What `saveIdentities` wrote; empty when it never did. Throws, naming the file, when one is missing or no seed. */
export async function loadIdentities(directory: string): Promise<Credential[]> {
  let text: string;
  try {
    text = await readFile(join(directory, indexFile), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const index = indexSchema.parse(JSON.parse(text));
  return Promise.all(
    index.map(async ({ node, runner, ...rest }) => ({
      ...rest,
      ...(node === undefined ? {} : { node }),
      ...(runner === undefined ? {} : { runner }),
      ...(await loadSeed(join(directory, seedFile(rest.name)))),
    })),
  );
}

/** One seed file, for a process that is given only its own. */
export async function loadSeed(file: string): Promise<{ seed: string; publicKey: string }> {
  const seed = (await readFile(file, 'utf8')).trim();
  try {
    return { seed, publicKey: fromSeed(new TextEncoder().encode(seed)).getPublicKey() };
  } catch (error) {
    throw new Error(`${file} holds no nkey seed`, { cause: error });
  }
}

/** Whole or not at all, and never readable by others, also while it is written. */
async function writePrivate(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await chmod(temporary, 0o600);
  await rename(temporary, file);
}
