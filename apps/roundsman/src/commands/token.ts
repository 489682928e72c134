import { X509Certificate } from 'node:crypto';
import { Home } from '../home.ts';
import { makeToken, pinOf } from '../join/token.ts';
import { UserError } from '../user-error.ts';

const hour = 3_600_000;

/** Prints the command with which another machine joins, good for `hours`. */
export function token({ hours }: { readonly hours: number }): void {
  const home = new Home();
  const listen = home.state()?.listen;
  const authority = home.read('keys/join/ca.crt');
  if (listen === undefined || authority === undefined) {
    throw new UserError('this cluster cannot be joined: it is not reachable from other machines', 'Start it with npx roundsman up --listen <address of this machine that the others reach>.');
  }
  const made = makeToken(home, pinOf(new X509Certificate(authority).raw), hours * hour);
  const address = listen.address.includes(':') ? `[${listen.address}]` : listen.address;
  process.stdout.write(`npx roundsman join ${address}:${listen.joinPort} --token ${made.token}\n`);
  process.stderr.write(`Run it on the machine that is to join. Good until ${made.expires}, for any number of machines.\n`);
}
