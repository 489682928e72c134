// Runs inside a pod's network namespace, as a child of the agent: connects to ports of the pod's localhost and hands the open sockets to its
// parent. Nothing has been read from them. Ends with its parent.
import { Socket } from 'node:net';

export interface DialRequest {
  readonly dial: number;
  readonly port: number;
}

/** Comes with the socket, or says why there is none. */
export interface DialAnswer {
  readonly dial: number;
  readonly error?: string;
}

function connectTo({ dial, port }: DialRequest, [host, ...others]: readonly string[]): void {
  const socket = new Socket({ allowHalfOpen: true });
  socket.pause();
  socket.once('error', (error) => {
    if (others.length > 0) connectTo({ dial, port }, others);
    else process.send?.({ dial, error: error.message } satisfies DialAnswer);
  });
  socket.connect({ port, host: host ?? 'localhost' }, () => process.send?.({ dial } satisfies DialAnswer, socket, { keepOpen: false }));
}

process.on('message', (request: DialRequest) => connectTo(request, ['::1', '127.0.0.1']));
process.on('disconnect', () => process.exit(0));
