import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { unmountToRemove } from './mounted.ts';
import { networkChoiceSchema } from './network/ranges.ts';
import { makeFolder } from './tools.ts';
import { UserError } from './user-error.ts';

const processSchema = z.object({ name: z.string(), pid: z.number().int(), started: z.string() });

const stateSchema = z.object({
  version: z.string(),
  /** `down` also follows a `up` that was refused or killed: its processes are still listed. */
  phase: z.enum(['starting', 'ready', 'stopped']),
  startedAt: z.iso.datetime(),
  readyAt: z.iso.datetime().optional(),
  nodes: z.array(z.string()),
  /** Of a machine that joined a cluster elsewhere: `host:port` where it did. It has no gateway and no database of its own: their members are empty. */
  memberOf: z.string().optional(),
  /** Where other machines reach NATS and join: `up --listen`. */
  listen: z.object({ address: z.string(), joinPort: z.number().int() }).optional(),
  /** Addresses of the cluster, and what its pods here are wired to. */
  network: networkChoiceSchema.extend({ mode: z.enum(['machine', 'namespace', 'docker']) }).optional(),
  /** Socket of the Docker that pods run on; absent: none. */
  docker: z.string().optional(),
  /** Pods were switched off: `--docker off`. */
  dockerOff: z.literal(true).optional(),
  /** What carries tasks without a runtime of their own: pods of a DaemonSet, or processes of the agents. */
  runners: z.enum(['daemonset', 'process']).optional(),
  gateway: z.string(),
  nats: z.string(),
  natsMonitor: z.string().optional(),
  /** For the owner role; `grafana` for the read-only one. */
  postgres: z.string(),
  grafana: z.string(),
  ports: z.record(z.string(), z.number().int()),
  /** Where Postgres keeps its files: in the home, or elsewhere when its account cannot reach into the home. */
  postgresData: z.string(),
  supervisor: processSchema,
  /** Of one that had to end by itself: why. */
  ended: z.string().optional(),
  /** Everything else that was started, as far as it must be ended when the supervisor no longer can. */
  processes: z.array(processSchema),
});
/** `state.json`. Read by scripts: names stay. */
export type State = z.infer<typeof stateSchema>;
export type RecordedProcess = z.infer<typeof processSchema>;

const secretsSchema = z.object({ postgres: z.string(), grafana: z.string() });
export type Secrets = z.infer<typeof secretsSchema>;

/** The folder where one product instance lives. Nothing in it is touched unless it carries our marker. */
export class Home {
  readonly path: string;

  constructor(path: string = process.env['ROUNDSMAN_HOME'] || join(homedir(), '.roundsman')) {
    this.path = resolve(path);
  }

  /** Makes the folder and the marker; refuses a folder that holds somebody else's files. */
  create(): void {
    const owner = statSync(this.path, { throwIfNoEntry: false })?.uid;
    // Whoever owns the folder can put another in its place: what it says must not decide what we end and remove.
    if (owner !== undefined && owner !== process.getuid?.()) throw new UserError(`${this.path} belongs to another user (uid ${owner})`, 'Set ROUNDSMAN_HOME to a folder of your own.');
    if (existsSync(this.path) && !this.ours && readdirSync(this.path).length > 0) {
      throw new UserError(`${this.path} is not empty and not a home of Roundsman`, 'Set ROUNDSMAN_HOME to another folder, or empty this one.');
    }
    try {
      makeFolder(this.path);
      // Others may pass through (Postgres runs as another user when we are root), not look: every secret is 0600.
      chmodSync(this.path, process.getuid?.() === 0 ? 0o711 : 0o700);
      for (const folder of ['data', 'logs', 'keys']) makeFolder(join(this.path, folder), folder === 'data' ? 0o711 : 0o700);
    } catch (error) {
      throw new UserError(`cannot write to ${this.path}: ${(error as Error).message}`, 'Set ROUNDSMAN_HOME to a folder that you may write to.', { cause: error });
    }
    if (!this.ours) this.write('.roundsman-home', `${randomUUID()}\n`);
  }

  /** A folder and a marker that this user made. Of another user neither counts: it could name anything to end or remove. */
  get ours(): boolean {
    const uid = process.getuid?.();
    const marker = lstatSync(this.file('.roundsman-home'), { throwIfNoEntry: false });
    return marker?.isFile() === true && marker.uid === uid && statSync(this.path, { throwIfNoEntry: false })?.uid === uid;
  }

  /**
   * Also safe to be found by chance, in a folder where everybody may make others: no link, and nobody else can list or change
   * it (passing through is allowed: Postgres must when we are root).
   */
  get private(): boolean {
    const found = lstatSync(this.path, { throwIfNoEntry: false });
    return found?.isDirectory() === true && found.uid === process.getuid?.() && (found.mode & 0o066) === 0 && this.ours;
  }

  /** Where data lies that must not be in the home; only root makes it (postgres-server.ts). */
  get outside(): string {
    return join('/var/lib/roundsman', this.tag);
  }

  /** Identity of this home, made with it: what it makes elsewhere (containers) carries it. */
  get id(): string {
    return readFileSync(this.file('.roundsman-home'), 'utf8').trim();
  }

  /** Short and the same for the same folder: for what must live elsewhere. */
  get tag(): string {
    return createHash('sha256').update(this.path).digest('hex').slice(0, 12);
  }

  file(...parts: string[]): string {
    return join(this.path, ...parts);
  }

  get kubeconfig(): string {
    return this.file('kubeconfig');
  }

  /** Undefined when nothing was ever started here. Throws when the file is broken. */
  state(): State | undefined {
    const text = readIfThere(this.file('state.json'));
    if (text === undefined) return undefined;
    const parsed = stateSchema.safeParse(parseJson(text));
    if (!parsed.success) throw new UserError(`${this.file('state.json')} cannot be read: ${parsed.error.issues[0]?.message}`, 'Remove the file; what was started must then be ended by hand.');
    return parsed.data;
  }

  saveState(state: State): void {
    this.write('state.json', `${JSON.stringify(state, undefined, 2)}\n`);
  }

  /** Made on first use, kept for good: the database remembers them. */
  secrets(make: () => Secrets): Secrets {
    const text = readIfThere(this.file('keys', 'postgres.json'));
    if (text !== undefined) return secretsSchema.parse(JSON.parse(text));
    const made = make();
    this.write('keys/postgres.json', `${JSON.stringify(made)}\n`);
    return made;
  }

  /** Bearer token of the gateway. */
  token(make: () => string): string {
    const text = readIfThere(this.file('token'));
    if (text !== undefined && text.trim() !== '') return text.trim();
    const made = make();
    this.write('token', `${made}\n`);
    return made;
  }

  /** Undefined when there is no such file. */
  read(name: string): string | undefined {
    return readIfThere(this.file(name));
  }

  /** Whole or not at all, readable by the owner alone. */
  write(name: string, text: string): void {
    const target = this.file(name);
    const temporary = `${target}.${process.pid}`;
    makeFolder(dirname(target));
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, target);
  }

  /** Removes everything, but nothing behind a mount. The marker goes last, so that a removal that was cut off can be repeated. */
  purge(): void {
    if (!existsSync(this.path)) return;
    if (!this.ours) throw new UserError(`${this.path} is not a home of Roundsman: nothing was removed`, 'It has no file .roundsman-home.');
    // Never a path that a file names: the one we would make, when it is there and ours.
    const outside = lstatSync(this.outside, { throwIfNoEntry: false });
    for (const folder of [this.path, this.outside]) unmountToRemove(folder);
    if (outside?.isDirectory() === true && outside.uid === process.getuid?.()) rmSync(this.outside, { recursive: true, force: true });
    for (const name of readdirSync(this.path)) if (name !== '.roundsman-home') rmSync(join(this.path, name), { recursive: true, force: true });
    rmSync(this.path, { recursive: true, force: true });
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
