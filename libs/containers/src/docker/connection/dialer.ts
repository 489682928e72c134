import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DialAnswer, DialRequest } from './dialer-process.ts';

/** A dialer that nobody has asked for so long is ended, milliseconds. */
const idleMs = 10_000;

const program = fileURLToPath(new URL(`./dialer-process${extname(import.meta.url)}`, import.meta.url));

/** Connects from within the network namespace of a process: a helper there opens the connections, this process gets the sockets. */
export class Dialer {
  /** Whose network it is in. */
  readonly pid: number;
  readonly #ended: (dialer: Dialer) => void;
  readonly #waiting = new Map<number, { resolve: (socket: Socket) => void; reject: (error: Error) => void }>();
  #child: ChildProcess | undefined;
  #dials = 0;
  #idle: NodeJS.Timeout | undefined;

  /** `ended` is called as soon as it takes no more requests, perhaps more than once. */
  constructor(pid: number, ended: (dialer: Dialer) => void) {
    this.pid = pid;
    this.#ended = ended;
  }

  dial(port: number): Promise<Socket> {
    this.#child ??= this.#start();
    const child = this.#child;
    clearTimeout(this.#idle);
    const dial = (this.#dials += 1);
    return new Promise((resolve, reject) => {
      this.#waiting.set(dial, { resolve, reject });
      child.send({ dial, port } satisfies DialRequest);
    });
  }

  close(): void {
    clearTimeout(this.#idle);
    this.#ended(this);
    this.#child?.kill('SIGKILL');
  }

  #start(): ChildProcess {
    const child = spawn('nsenter', [`--net=/proc/${this.pid}/ns/net`, '--', process.execPath, '--max-semi-space-size=1', '--v8-pool-size=1', program], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { PATH: process.env['PATH'] ?? '' },
    });
    let words = '';
    child.stderr?.on('data', (text: Buffer) => (words += text.toString()));
    child.on('message', ({ dial, error }: DialAnswer, socket) => {
      const waiting = this.#waiting.get(dial);
      this.#waiting.delete(dial);
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => this.close(), idleMs).unref();
      if (waiting === undefined) (socket as Socket | undefined)?.destroy();
      else if (error === undefined && socket !== undefined) waiting.resolve(socket as Socket);
      else waiting.reject(new Error(error ?? 'the connection was lost on its way'));
    });
    const gone = (why: string): void => {
      clearTimeout(this.#idle);
      for (const { reject } of this.#waiting.values()) reject(new Error(why));
      this.#waiting.clear();
      this.#ended(this);
    };
    // More than once: every request to one that has ended is an error too.
    child.on('error', (error) => gone(`the network of the pod cannot be entered: ${error.message}`));
    child.once('exit', () => gone(`the network of the pod was left: ${words.trim() || 'the pod has ended'}`));
    // It must not keep the agent alive; without the agent it ends.
    child.unref();
    child.channel?.unref();
    (child.stderr as Socket | null)?.unref();
    return child;
  }
}
