import { request } from 'node:https';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { joinReplySchema, type JoinReply, type JoinRequest } from './messages.ts';
import { pinOf, type JoinToken } from './token.ts';
import { UserError } from '../user-error.ts';

const withinMs = 10_000;

/** The authority (PEM) of the cluster at this address, proven by the token's pin. Throws when it is another, or nobody answers. */
export function authorityOf(host: string, port: number, { pin }: JoinToken): Promise<string> {
  return new Promise((resolve, reject) => {
    // Nothing is said on this connection: it only looks at who answers, and the pin decides.
    const socket = connect({ host, port, rejectUnauthorized: false, timeout: withinMs }, () => {
      const found = chainOf(socket.getPeerCertificate(true)).find(({ raw }) => pinOf(raw) === pin);
      socket.destroy();
      if (found !== undefined) return resolve(pemOf(found.raw));
      reject(new UserError(`what answers at ${host}:${port} is not the cluster that this token is for`, 'Its certificate is another one. Check the address; make a new token on the machine where the cluster was started: npx roundsman token'));
    });
    socket.once('timeout', () => socket.destroy(new Error(`no answer within ${withinMs / 1000} s`)));
    socket.once('error', (error) => reject(unreachable(host, port, error)));
  });
}

/** Joins; resolves when the cluster has let this machine in. Throws a UserError with the cluster's words when it does not. */
export function join(host: string, port: number, ca: string, { secret }: JoinToken, asked: JoinRequest): Promise<JoinReply> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(asked);
    const sent = request({ host, port, ca, path: '/join', method: 'POST', timeout: withinMs, headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).once('error', reject);
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        try {
          if (response.statusCode === 200) return resolve(joinReplySchema.parse(JSON.parse(text)));
          const { message } = JSON.parse(text) as { message?: string };
          reject(new UserError(`the cluster at ${host}:${port} did not let this machine in: ${message ?? `HTTP ${response.statusCode}`}`));
        } catch (error) {
          reject(new UserError(`the cluster at ${host}:${port} answered what cannot be read: ${(error as Error).message}`));
        }
      });
    });
    sent.once('timeout', () => sent.destroy(new Error(`no answer within ${withinMs / 1000} s`)));
    sent.once('error', (error) => reject(unreachable(host, port, error)));
    sent.end(body);
  });
}

function unreachable(host: string, port: number, error: NodeJS.ErrnoException): UserError {
  // System errors have a number: everything else is about what answered.
  if (error.errno === undefined && error.code !== undefined && error.code !== 'ECONNRESET') {
    return new UserError(`what answers at ${host}:${port} cannot prove that it is the cluster: ${error.message}`, 'Use the address that npx roundsman token prints; its certificate is for that one.', { cause: error });
  }
  return new UserError(`nobody answers at ${host}:${port}: ${error.message}`, 'The cluster must have been started with --listen and an address that this machine reaches; npx roundsman token prints it.', { cause: error });
}

function chainOf(first: DetailedPeerCertificate): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = [];
  for (let at: DetailedPeerCertificate | undefined = first; at?.raw !== undefined && !chain.some(({ fingerprint256 }) => fingerprint256 === at?.fingerprint256); at = at.issuerCertificate) chain.push(at);
  return chain;
}

const pemOf = (der: Buffer): string => `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()}\n-----END CERTIFICATE-----\n`;
