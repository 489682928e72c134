import { z } from 'zod';

const publicKey = z.string().regex(/^U[A-Z2-7]{55}$/, 'must be the public key of an nkey user');

/** Of a machine that wants to join: what it is called, and the public keys of what will run on it. The seeds never leave it. */
export const joinRequestSchema = z.object({
  node: z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, 'must be lower-case letters, digits and "-"'),
  agentKey: publicKey,
  runnerKey: publicKey,
  ingressKey: publicKey,
});
export type JoinRequest = z.infer<typeof joinRequestSchema>;

export const joinReplySchema = z.object({
  /** Identity of the cluster: its containers carry it. */
  cluster: z.string(),
  /** `nats://10.0.0.5:4222`; spoken to by TLS. */
  nats: z.string(),
  /** Endpoints of the product that no probe may connect to, `address:port`. */
  denyEndpoints: z.array(z.string()),
  version: z.string(),
});
export type JoinReply = z.infer<typeof joinReplySchema>;
