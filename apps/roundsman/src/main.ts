#!/usr/bin/env node
import { Command, InvalidArgumentError, Option } from 'commander';
import { serveSettings } from './serve-settings.ts';
import { UserError } from './user-error.ts';
import { version } from './version.ts';

const integer = (least: number, most: number) => (text: string): number => {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
  return value;
};
const port = integer(1, 65_535);

// `roundsman status | head -1`: nobody reads on, which is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

const program = new Command('roundsman')
  .description('Makes the rounds of a cluster: tests reachability, HTTP and DNS from every node, and says what is broken.')
  .version(version)
  .showHelpAfterError('(roundsman --help shows what there is)')
  .configureHelp({ showGlobalOptions: true })
  .exitOverride();

// Commands are loaded when they run: `status` must not pay for what `up` needs.
program
  .command('up')
  .description('start the product here and stay; --detach leaves it running in the background')
  .addOption(new Option('--nodes <n>', 'virtual nodes; not given: as many as the last time, 3 the first time').argParser(integer(1, 50)))
  .option('--docker <socket>', 'socket of the Docker that pods run on, or off; not given: DOCKER_HOST, or the usual one when it answers')
  .option('--listen <address>', 'address of this machine at which others may join (npx roundsman token); not given: as before, at first loopback only; off: loopback only')
  .option('--write-hosts', 'tell the hosts of DNS objects and Ingresses to programs of this machine, in /etc/hosts; down takes them out')
  .option('--pod-cidr <ranges>', 'addresses of pods, one range per family; not given: as the last time, a free range the first time')
  .option('--service-cidr <ranges>', 'addresses of Services')
  .option('--load-balancer-cidr <ranges>', 'addresses of Services of type LoadBalancer; none: they get none')
  .addOption(new Option('--network-backend <how>', 'how machines reach the pods of others: routes, or VXLAN where routers are between them').choices(['host-gw', 'vxlan']))
  .option('--detach', 'return when everything is ready')
  .option('--port <port>', 'port of the gateway; a free one when not given', port)
  .option('--nats-port <port>', 'port of NATS', port)
  .option('--postgres-port <port>', 'port of Postgres', port)
  .action(async (options) => (await import('./commands/up.ts')).up(options));
program
  .command('status')
  .description('what runs, and whether it is well (exit code 0; 1 when it is not well; 3 when it does not run)')
  .option('--json', 'for scripts')
  .action(async (options) => (await import('./commands/status.ts')).status(options));
program
  .command('down')
  .description('stop it, and end its pods')
  .option('--keep-pods', 'leave the pods running; up takes them over again')
  .option('--purge', 'also remove its data, logs and keys, and with them the volumes that were made on this machine (not those in a folder of your own: ROUNDSMAN_NODE_AGENT_VOLUMES_DIR)')
  .action(async (options) => (await import('./commands/down.ts')).down(options));
program
  .command('token')
  .description('print the command with which another machine joins this cluster (up --listen)')
  .addOption(new Option('--hours <n>', 'how long it is good').default(24).argParser(integer(1, 24 * 365)))
  .action(async (options) => (await import('./commands/token.ts')).token(options));
program
  .command('join')
  .description('make this machine a node of a cluster elsewhere, and stay one; without an address: of the one it joined before')
  .argument('[address]', 'host:port, as roundsman token prints it')
  .option('--token <token>', 'as roundsman token prints it; only the first time')
  .option('--name <node>', 'name of the node; default: the name of the machine')
  .option('--docker <socket>', 'as for up')
  .option('--write-hosts', 'as for up')
  .option('--detach', 'return when everything is ready')
  .action(async (address: string | undefined, options) => (await import('./commands/join.ts')).join(address, options));
program
  .command('forget')
  .description('take a machine that joined out of the cluster for good')
  .argument('<node>', 'its name')
  .action(async (node: string) => (await import('./commands/forget.ts')).forget(node));
program
  .command('demo')
  .description('a whole run in a temporary home: three nodes, three tasks, their reports')
  .action(async () => (await import('./commands/demo.ts')).demo());
program
  .command('doctor')
  .description('what this machine has and lacks (exit code 1 when something needed is missing)')
  .option('--json', 'for scripts')
  .option('--docker <socket>', 'as for up')
  .action(async (options) => (await import('./commands/doctor.ts')).doctor(options));
program
  .command('serve')
  .description('run services by name, settings from the environment')
  .argument('<services>', 'one or more, separated by commas')
  .addHelpText('after', serveSettings)
  .action(async (names: string) => (await import('./serve.ts')).serve(names.split(',').map((name) => name.trim()).filter((name) => name !== '')));

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = fail(error);
  // What is half started must not keep a failed command alive.
  process.exit();
}

/** Prints why, in words; the stack only where nobody foresaw the error. Returns the exit code. */
function fail(error: unknown): number {
  if (error instanceof Error && error.name === 'CommanderError') {
    const code = (error as Error & { exitCode: number }).exitCode;
    return code === 0 ? 0 : 2;
  }
  if (error instanceof UserError) {
    process.stderr.write(`roundsman: ${error.message}\n${error.hint === undefined ? '' : `  ${error.hint}\n`}`);
    return error.exitCode;
  }
  if (error instanceof Error && error.name === 'SettingsError') {
    process.stderr.write(`roundsman: ${error.message}\n`);
    return 2;
  }
  const known = error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`roundsman: ${known.message}\n${process.env['ROUNDSMAN_LOG_LEVEL'] === 'debug' ? `${known.stack}\n` : ''}`);
  return 1;
}
