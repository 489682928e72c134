import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { connect, createServer, isIPv6, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * A program that specs run in a network namespace: it answers on ports 8080 and 8081 (TCP and UDP, both families) with its name and the address of who asks, and asks others as it
 * is told on standard input, one JSON line per order.
 */
export interface PeerOrder {
  readonly id: number;
  readonly do: 'ask' | 'open' | 'say';
  readonly protocol?: 'tcp' | 'udp';
  readonly address?: string;
  readonly port?: number;
  /** Of connections, one after the other. */
  readonly count?: number;
  /** Names what stays open. */
  readonly key?: string;
}

/** Far more than a busy machine needs: only what is really dropped takes it. */
const answerWithinMs = 3_000;
const [, , name = ''] = process.argv;
const plain = (address = ''): string => address.replace(/^::ffff:/, '');

for (const port of [8080, 8081]) {
  createServer((socket) => {
    socket.on('data', () => socket.write(`${name} ${plain(socket.remoteAddress)}`));
    socket.on('error', () => socket.destroy());
  }).listen({ port, host: '::' });
  const udp = createSocket('udp6');
  udp.on('message', (_message, { address, port: from }) => udp.send(`${name} ${plain(address)}`, from, address));
  udp.bind(port, '::');
}

const held = new Map<string, Socket | UdpSocket>();

function say(socket: Socket | UdpSocket): Promise<string> {
  return new Promise((resolve) => {
    const done = (answer: string): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      resolve(answer);
    };
    const timer = setTimeout(() => done('timeout'), answerWithinMs);
    socket.on('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    if ('send' in socket) {
      socket.on('message', (message: Buffer) => done(message.toString()));
      socket.send('x', (error) => error && done((error as NodeJS.ErrnoException).code ?? error.message));
    } else {
      socket.on('data', (data: Buffer) => done(data.toString()));
      socket.on('close', () => done('closed'));
      socket.write('x');
    }
  });
}

function open({ protocol, address = '', port = 0 }: PeerOrder): Promise<Socket | UdpSocket> {
  if (protocol === 'udp') {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    return new Promise((resolve) => socket.connect(port, address, () => resolve(socket)));
  }
  return Promise.resolve(connect({ host: address, port }));
}

async function ask(order: PeerOrder): Promise<string> {
  const socket = await open(order);
  const answer = await say(socket);
  if ('send' in socket) socket.close();
  else socket.destroy();
  return answer;
}

async function obey(order: PeerOrder): Promise<string[]> {
  if (order.do === 'ask') {
    const answers: string[] = [];
    for (let index = 0; index < (order.count ?? 1); index++) answers.push(await ask(order));
    return answers;
  }
  const key = order.key ?? '';
  if (order.do === 'open') held.set(key, await open(order));
  const socket = held.get(key);
  return socket === undefined ? ['none'] : [await say(socket)];
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const order = JSON.parse(line) as PeerOrder;
    void obey(order).then((answers) => process.stdout.write(`${JSON.stringify({ id: order.id, answers })}\n`));
  })
  .on('close', () => process.exit(0));
process.stdout.write(`${JSON.stringify({ id: 0, answers: [] })}\n`);
