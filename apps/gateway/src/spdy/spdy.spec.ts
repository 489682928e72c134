import { duplexPair, type Duplex } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { array, assert, asyncProperty, dictionary as record, integer, property, string, uint8Array } from 'fast-check';
import { controlFrame, controlTypes, dataFrame, finFlag, FrameParser, numbers, type Frame } from './frames.ts';
import { HeaderReader, HeaderWriter, type Headers } from './headers.ts';
import { SpdySession, type SpdyStream } from './session.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** The client's side, by hand. */
class Client {
  readonly frames: Frame[] = [];
  readonly streams: SpdyStream[] = [];
  readonly session: SpdySession;
  readonly #writer = new HeaderWriter();
  readonly wire: Duplex;

  constructor() {
    const [near, far] = duplexPair();
    this.wire = near;
    const parser = new FrameParser();
    near.on('data', (chunk: Buffer) => this.frames.push(...parser.parse(chunk))).on('error', () => undefined);
    this.session = new SpdySession(far, (stream) => this.streams.push(stream));
    closing.push(() => this.session.destroy(), () => this.#writer.close());
  }

  async open(id: number, headers: Headers, flags = 0): Promise<void> {
    const block = await this.#writer.write(headers);
    this.wire.write(controlFrame(controlTypes.synStream, flags, Buffer.concat([numbers(id, 0), Buffer.from([0, 0]), block])));
  }

  /** What came on a stream, in one piece, and whether it has ended. */
  received(id: number): { text: string; ended: boolean } {
    const data = this.frames.filter((frame) => frame.kind === 'data' && frame.stream === id) as Extract<Frame, { kind: 'data' }>[];
    return { text: Buffer.concat(data.map(({ bytes }) => bytes)).toString(), ended: data.at(-1)?.fin ?? false };
  }

  control(type: number): Buffer[] {
    return this.frames.flatMap((frame) => (frame.kind === 'control' && frame.type === type ? [frame.body] : []));
  }
}
/** Headers are packed and unpacked in threads: that takes its time. */
const until = async (condition: () => boolean): Promise<void> => {
  const late = AbortSignal.timeout(60_000);
  while (!condition()) {
    if (late.aborted) throw new Error(`not within a minute: ${String(condition)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
};
const textOf = async (stream: SpdyStream): Promise<string> => {
  let text = '';
  for await (const bytes of stream.incoming) text += bytes.toString();
  return text;
};

describe('frames', () => {
  it('read back as they were written, however they are cut', () => {
    assert(
      property(array(uint8Array({ maxLength: 300 }), { maxLength: 5 }), integer({ min: 1, max: 50 }), (payloads, cut) => {
        const wire = Buffer.concat(payloads.flatMap((bytes, index) => [dataFrame(2 * index + 1, bytes, index % 2 === 0), controlFrame(controlTypes.ping, 0, numbers(index))]));
        const parser = new FrameParser();
        const frames: Frame[] = [];
        for (let at = 0; at < wire.length; at += cut) frames.push(...parser.parse(wire.subarray(at, at + cut)));
        for (const [index, bytes] of payloads.entries()) {
          const data = frames.filter((frame) => frame.kind === 'data' && frame.stream === 2 * index + 1) as Extract<Frame, { kind: 'data' }>[];
          expect(Buffer.concat(data.map((frame) => frame.bytes)).equals(bytes)).toBe(true);
          expect(data.map(({ fin }) => fin)).toEqual(data.map((_, place) => index % 2 === 0 && place === data.length - 1));
        }
        expect(frames.filter(({ kind }) => kind === 'control')).toHaveLength(payloads.length);
      }),
    );
  });

  it('are refused when they are of another protocol or too large', () => {
    expect(() => [...new FrameParser().parse(Buffer.from('GET / HTTP/1.1\r\n\r\n'.padStart(30, '\x80')))]).toThrow(/SPDY version/);
    expect(() => [...new FrameParser().parse(controlFrame(controlTypes.headers, 0, Buffer.alloc(70_000)))]).toThrow(/control frame of 70000 bytes/);
  });
});

describe('headers', () => {
  it('read back as they were written, one block after another, primed with the dictionary of the specification', async () => {
    const first = await new HeaderWriter().write(new Map([['a', 'b']]));
    // After the two bytes of zlib's header stands the checksum of the dictionary.
    expect(first.subarray(2, 6).toString('hex')).toBe('e3c6a7c2');
    await assert(
      asyncProperty(array(record(string({ minLength: 1 }).map((name) => name.toLowerCase()), string()), { maxLength: 4 }), async (blocks) => {
        const [reader, writer] = [new HeaderReader(), new HeaderWriter()];
        for (const block of blocks) {
          const headers = new Map(Object.entries(block));
          expect(await reader.read(await writer.write(headers))).toEqual(new Map([...headers].map(([name, value]) => [name.toLowerCase(), value])));
        }
        reader.close();
        writer.close();
      }),
      { numRuns: 30 },
    );
  });

  it('are refused when they are broken or unpack to too much', async () => {
    await expect(new HeaderReader().read(Buffer.from('nonsense, not zlib'))).rejects.toThrow();
    const bomb = await new HeaderWriter().write(new Map([['x', 'y'.repeat(1 << 20)]]));
    expect(bomb.length).toBeLessThan(10_000);
    await expect(new HeaderReader().read(bomb)).rejects.toThrow(/larger than 65536/);
  });
});

describe('a session', () => {
  it('opens streams with their headers, carries data and ends both ways, and forgets what has ended', async () => {
    const client = new Client();
    await client.open(1, new Map([['streamtype', 'data'], ['port', '80']]));
    await until(() => client.control(controlTypes.synReply).length > 0);
    expect(client.control(controlTypes.synReply).map((body) => body.readUInt32BE(0))).toEqual([1]);
    const [stream] = client.streams as [SpdyStream];
    expect(stream.headers).toEqual(new Map([['streamtype', 'data'], ['port', '80']]));
    client.wire.write(dataFrame(1, Buffer.from('up'), false));
    client.wire.write(dataFrame(1, Buffer.from('!'), true));
    expect(await textOf(stream)).toBe('up!');
    await stream.write(Buffer.from('x'.repeat(100_000)));
    await stream.end();
    await until(() => client.received(1).ended);
    expect(client.received(1)).toEqual({ text: 'x'.repeat(100_000), ended: true });
    // More streams than may be open at once, some hundreds after others.
    let ended = client.streams.splice(0).length;
    for (let id = 3; id < 4_500; id += 2) {
      await client.open(id, new Map([['n', String(id)]]), finFlag);
      if (id % 500 !== 1 && id < 4_499) continue;
      await until(() => client.wire.destroyed || ended + client.streams.length === (id + 1) / 2);
      for (const one of client.streams.splice(0)) {
        await one.end();
        ended += 1;
      }
    }
    expect(client.wire.destroyed).toBe(false);
  });

  it('answers pings, lets go of what is reset, and of everything when the connection ends', async () => {
    const client = new Client();
    client.wire.write(controlFrame(controlTypes.ping, 0, numbers(1)));
    await client.open(1, new Map());
    await client.open(3, new Map());
    await until(() => client.streams.length === 2 && client.control(controlTypes.ping).length > 0);
    expect(client.control(controlTypes.ping).map((body) => body.readUInt32BE(0))).toEqual([1]);
    const [first, second] = client.streams as [SpdyStream, SpdyStream];
    client.wire.write(controlFrame(controlTypes.reset, 0, numbers(1, 5)));
    await first.gone;
    await first.write(Buffer.from('nobody'));
    client.wire.end();
    await second.gone;
    await client.session.closed;
    expect(client.received(1).text).toBe('');
  });

  it('is not read on while a stream is not taken, and goes on when it is', async () => {
    const client = new Client();
    await client.open(1, new Map());
    await until(() => client.streams.length === 1);
    const chunk = Buffer.alloc(64 << 10);
    let written = 0;
    while (client.wire.write(dataFrame(1, chunk, false))) {
      written += chunk.length;
      if (written > 64 << 20) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBeLessThan(2 << 20);
    client.wire.write(dataFrame(1, Buffer.alloc(0), true));
    expect((await textOf(client.streams[0]!)).length).toBeGreaterThan(written);
  });

  it('ends the connection on what it cannot read', async () => {
    for (const junk of [Buffer.from('GET / HTTP/1.1\r\n\r\n'.padStart(30, '\x80'), 'latin1'), controlFrame(controlTypes.synStream, 0, Buffer.alloc(4)), controlFrame(controlTypes.synStream, 0, Buffer.alloc(40))]) {
      const client = new Client();
      client.wire.write(junk);
      await client.session.closed;
      expect(client.streams).toEqual([]);
    }
    const client = new Client();
    await client.open(3, new Map());
    await client.open(1, new Map());
    await client.session.closed;
    expect(client.streams.map(({ id }) => id)).toEqual([3]);
  });
});
