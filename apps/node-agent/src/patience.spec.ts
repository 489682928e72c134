import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@roundsman/testkit';
import { patience } from './patience.ts';

/** This process, and only it. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('how long an answer is waited for', () => {
  it('does not count while the agent stands still', async () => {
    const seen: string[] = [];
    patience(200, () => void seen.push('over'));
    standStill(500);
    await new Promise((resolve) => setTimeout(resolve));
    expect(seen).toEqual([]);
    await eventually(() => expect(seen).toEqual(['over']));
  });

  it('what has come meanwhile is read first', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [[served]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], unknown];
    const seen: string[] = [];
    client.once('data', () => void seen.push('answer'));
    patience(50, () => void seen.push('over'));
    served.write('yes');
    standStill(200);
    await eventually(() => expect(seen).toEqual(['answer', 'over']));
    for (const socket of [client, served]) socket.destroy();
    server.close();
  });

  it('ends when it is told to', async () => {
    const seen: string[] = [];
    patience(1, () => void seen.push('over'))();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(seen).toEqual([]);
  });
});
