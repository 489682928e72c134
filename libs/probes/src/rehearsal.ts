import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { ProbeTarget } from '@roundsman/api';

/** Enough that the engine's code is loaded, its types are known and the hot parts are compiled. */
const budget = { qps: 5000, durationMs: 60, timeoutMs: 500 };

export type Rehearse = (targets: ProbeTarget[], request: typeof budget) => Promise<unknown>;

const rehearsed = new Map<ProbeTarget['probe'], Promise<void>>();

/**
 * Runs the engine against this thread itself, once per thread and probe kind, about 0.1 s: otherwise the first requests
 * of a round would pay for loading and compiling, and the target would be blamed. Nothing leaves the loopback interface.
 */
export async function rehearse(kinds: Iterable<ProbeTarget['probe']>, run: Rehearse): Promise<void> {
  for (const kind of new Set(kinds)) {
    let done = rehearsed.get(kind);
    if (done === undefined) rehearsed.set(kind, (done = kind === 'http' ? rehearseHttp(run) : rehearseDns(run)));
    await done;
  }
}

async function rehearseHttp(run: Rehearse): Promise<void> {
  const answer = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok');
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', () => socket.write(answer));
  });
  // Without a loopback interface there is no rehearsal; the round runs all the same, only colder.
  server.on('error', () => server.close());
  server.listen(0, '127.0.0.1');
  await Promise.race([once(server, 'listening'), once(server, 'close')]);
  const address = server.address();
  if (address === null || typeof address === 'string') return;
  await run([{ id: 'rehearsal', layer: 'url', probe: 'http', url: `http://127.0.0.1:${address.port}/`, method: 'GET', headers: [], http2: false, hasBody: false, hasTls: false }], budget);
  // The round shall not begin among the closing of these connections.
  server.close();
  await once(server, 'close');
}

async function rehearseDns(run: Rehearse): Promise<void> {
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    query[2] = 0x81;
    socket.send(query, from.port, from.address);
  });
  socket.on('error', () => socket.close());
  socket.bind(0, '127.0.0.1');
  await Promise.race([once(socket, 'listening'), once(socket, 'close')]);
  let port: number;
  try {
    ({ port } = socket.address());
  } catch {
    return; // It could not be bound; see above.
  }
  await run([{ id: 'rehearsal', layer: 'dns', probe: 'dns', server: '127.0.0.1', port, protocol: 'udp', domain: 'rehearsal.invalid', recordType: 'A', hasTls: false }], budget);
  socket.close();
  await once(socket, 'close');
}
