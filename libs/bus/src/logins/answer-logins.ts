import type { Msg } from '@nats-io/transport-node';
import { z } from 'zod';
import type { Bus, Subscription } from '../bus.ts';
import type { Identity } from '../identities.ts';
import { messageOf } from '../log.ts';
import { connectionOf } from '../nats-bus.ts';
import { issuerKey } from './issuer-key.ts';
import { admission, refusal } from './reply.ts';
import { loginSubject } from './subject.ts';

/** What somebody without an nkey says of himself. */
export interface Login {
  readonly user: string;
  /** A secret: never into a log. */
  readonly password: string;
  /** Address it connects from. */
  readonly host: string;
}

/** Whom the client is let in as, or why it is not; the reason is for the logs of the server. */
export type Decision = { readonly identity: Identity } | { readonly refused: string };

export interface AnswerLoginsOptions {
  /** Seed of `createIssuer`, whose public key the server was given. */
  readonly issuerSeed: string;
  /**
   * A connection ends after so long, and its client logs in anew: a token that was taken away is of no more use then, whoever still
   * holds a connection with it. Default 12 hours.
   */
  readonly lifeMs?: number;
}

const questionSchema = z.object({
  nats: z.object({
    server_id: z.object({ id: z.string() }),
    user_nkey: z.string(),
    client_info: z.object({ host: z.string().default('') }),
    connect_opts: z.object({ user: z.string().default(''), pass: z.string().default('') }),
  }),
});

/** Its signature says nothing: it is of a key that nobody knows beforehand. That the server asks follows from the subject, to which no client may publish. */
function claimsOf(question: string): z.infer<typeof questionSchema>['nats'] {
  const payload = question.split('.')[1] ?? '';
  return questionSchema.parse(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))).nats;
}

/**
 * Answers the server's questions about clients that have no nkey (auth callout), until stopped; instances with the same identity share them.
 * An answer is signed with the issuer's key and good for one connection of one client. The question holds the password: only the identities
 * that answer may subscribe to it (duties.ts). Nobody answers: the client is refused after a while, and tries again.
 */
export async function answerLogins(bus: Bus, { issuerSeed, lifeMs = 12 * 3_600_000 }: AnswerLoginsOptions, decide: (login: Login) => Decision | Promise<Decision>): Promise<Subscription> {
  const connection = connectionOf(bus);
  const { nats, log } = connection;
  const issuer = issuerKey(issuerSeed);

  const answerTo = async (question: string): Promise<string> => {
    const { server_id: server, user_nkey: userKey, client_info: client, connect_opts: given } = claimsOf(question);
    const asked = { userKey, server: server.id };
    let decision: Decision;
    try {
      decision = await decide({ user: given.user, password: given.pass, host: client.host });
    } catch (error) {
      log.error({ user: given.user, error: messageOf(error) }, 'a log-in could not be decided');
      decision = { refused: 'it could not be decided' };
    }
    return 'identity' in decision ? admission(issuer, asked, decision.identity, Math.ceil(lifeMs / 1_000)) : refusal(issuer, asked, decision.refused);
  };
  const answer = async (msg: Msg): Promise<void> => {
    try {
      const text = await answerTo(msg.string());
      if (!nats.isClosed()) msg.respond(text);
    } catch (error) {
      log.error({ error: messageOf(error) }, 'a question about a log-in was not answered');
    }
  };
  const subscription = nats.subscribe(loginSubject, {
    queue: 'logins',
    callback: (error, msg) => {
      if (error !== null) {
        log.error({ subject: loginSubject, error: error.message }, 'subscription refused');
        return;
      }
      void answer(msg);
    },
  });
  await connection.announced();
  return {
    stop: async () => {
      if (subscription.isClosed() || !connection.connected) subscription.unsubscribe();
      else await subscription.drain();
    },
  };
}
